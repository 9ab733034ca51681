package adapter

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestExportIsSelfContained(t *testing.T) {
	info := &stream.SessionInfo{SessionID: "s1", Title: "<b>Title</b>"}
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"u","role":"user","content":[{"type":"text","text":"Look <script>alert(1)</script> https://example.com/x.png"},
			{"type":"image","source":{"type":"base64","data":"iVBORw0KGgo=","mediaType":"image/png"}}]},
		{"id":"a","role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Done."},
			{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/w/a.txt","old_str":"one","new_str":"two"}}]},
		{"id":"r","role":"tool","content":[{"type":"tool_result","tool_use_id":"t","content":"edited"}]}
	]`), &info.Messages))
	var page strings.Builder
	require.NoError(t, exported(info, "/w").Render(&page))
	for _, want := range []string{"Hm.", "Done.", "- one", "&#43; two", "edited", "Edit a.txt", "&lt;script&gt;", "&lt;b&gt;Title", "data:image/png;base64,iVBORw0KGgo="} {
		require.Contains(t, page.String(), want)
	}
	require.NotContains(t, page.String(), "<script")
	require.NotRegexp(t, `(src|href)="[^d]`, page.String())
}

// What the user attached is named where they did not mention it, and a call that
// failed shows all that it said.
func TestExportHasWhatTheEditorShows(t *testing.T) {
	info := new(stream.SessionInfo)
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"u","role":"user","content":[{"type":"document","source":{"type":"text","mediaType":"text/plain","name":"/w/a.txt"}},{"type":"text","text":"read it"}]},
		{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Shoot","input":{"content":"a\r\nb"}}]},
		{"id":"r","role":"tool","content":[{"type":"tool_result","tool_use_id":"t","isError":true,"content":[
			{"type":"text","text":"two of "},{"type":"text","text":"three"},
			{"type":"image","source":{"type":"base64","data":"AAAA","mediaType":"image/png"}},
			{"type":"image","source":{"type":"base64","data":"BBBB","mediaType":"image/webp"}},
			{"type":"image","source":{"type":"base64","data":"CCCC","mediaType":"image/tiff"}}]}]}
	]`), &info.Messages))
	var page strings.Builder
	require.NoError(t, exported(info, "/w").Render(&page))
	for _, want := range []string{"read it\n\n[attached: /w/a.txt]", `class="failed"`, "&#43; a\n", "&#43; b\n", "two of three", "image/png;base64,AAAA", "image/webp;base64,BBBB"} {
		require.Contains(t, strings.ReplaceAll(page.String(), "</span>", ""), want)
	}
	require.NotContains(t, page.String(), "CCCC")
}

func TestExportedFile(t *testing.T) {
	dir := t.TempDir()
	path, err := exportTo(new(stream.SessionInfo), "s7", dir, "")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "droid-s7.html"), path)
	require.FileExists(t, path)
	_, err = exportTo(new(stream.SessionInfo), "s7", dir, "droid-s7.html")
	require.ErrorContains(t, err, "droid-s7.html exists")
}
