// Command droids compares what two versions of droid were recorded to do: make compare A=0.99.0 B=0.225.2.
package main

import (
	"fmt"
	"os"

	"droid-acp/internal/testing/droids"
)

func main() {
	if err := compare(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compare(versions []string) error {
	if len(versions) != 2 {
		return fmt.Errorf("usage: make compare A=VERSION B=VERSION")
	}
	var both [2]*droids.Recorded
	for i, version := range versions {
		var err error
		if both[i], err = droids.Load("testdata/droids", version); err != nil {
			return fmt.Errorf("%w; make record VERSION=%s", err, version)
		}
	}
	for _, line := range droids.Compare(both[0], both[1]) {
		fmt.Println(line)
	}
	for _, c := range droids.Checks() {
		if was, is := c.Of(both[0]), c.Of(both[1]); was != is {
			fmt.Printf("%s: was %s, is %s\n", c.Name(), was, is)
		}
	}
	return nil
}
