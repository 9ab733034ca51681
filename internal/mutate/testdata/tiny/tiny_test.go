package tiny

import "testing"

func TestLarger(t *testing.T) {
	if Larger(1, 2) != 2 || Larger(2, 1) != 2 {
		t.Fatal("not the larger one")
	}
}

func TestSum(t *testing.T) {
	if Sum(3) != 6 {
		t.Fatal("not the sum")
	}
}
