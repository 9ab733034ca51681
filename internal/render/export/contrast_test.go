package export

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// luminance is the relative luminance of a colour as WCAG 2 has it.
func luminance(t *testing.T, hex string) (l float64) {
	t.Helper()
	if len(hex) == 4 {
		hex = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
	}
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		l += share * c
	}
	return l
}

// Each colour of text has the contrast of WCAG's level AA (4.5) with what it stands on, in
// light and in dark.
func TestContrast(t *testing.T) {
	roots := regexp.MustCompile(`:root\{([^}]*)\}`).FindAllStringSubmatch(pageCSS, -1)
	require.Len(t, roots, 2)
	for i, root := range roots {
		colours := make(map[string]string)
		for _, m := range regexp.MustCompile(`--(\w+):(#[0-9a-f]+)`).FindAllStringSubmatch(root[1], -1) {
			colours[m[1]] = m[2]
		}
		for back, texts := range map[string]string{
			"back": "text soft link bad good", "card": "text soft link", "user": "text soft link", "add": "text", "del": "text",
		} {
			for _, text := range strings.Fields(texts) {
				a, b := luminance(t, colours[back]), luminance(t, colours[text])
				require.GreaterOrEqual(t, (max(a, b)+0.05)/(min(a, b)+0.05), 4.5, fmt.Sprintf("%s on %s in root %d", text, back, i))
			}
		}
	}
}
