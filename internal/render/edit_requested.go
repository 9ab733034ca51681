package render

import (
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/paths"
)

// askedChanges returns the changes that droid describes in a permission request, and the planned ones that it does not mention: of a patch
// for several files 0.99 describes at most the first.
func askedChanges(tool stream.PermissionToolUse, already []fileChange, cwd string) []fileChange {
	d, planned := tool.Details, listed(already)
	path := paths.Absolute(cwd, d.FilePath)
	switch {
	case tool.Confirmation == "create" && d.Content != nil:
		return []fileChange{before(planned, path, nil).to(d.Content)}
	case len(d.Files) > 0:
		var out changeList
		for _, f := range d.Files {
			changes := fileChanges(f, planned, cwd)
			if changes == nil {
				return planned.list
			}
			out.add(changes...)
		}
		return out.list
	case outdated(planned, path, d.OldContent):
		return planned.list
	case d.NewContent != nil && tool.Confirmation == "apply_patch":
		return replaced(planned.list, before(planned, path, d.OldContent).to(d.NewContent))
	case d.NewContent != nil:
		return []fileChange{whole(path, d.OldContent, d.NewContent)}
	}
	return planned.list
}

// outdated reports whether droid's description is based on an older text of the file: unsaved text of the editor has been saved since the
// request (0.99). droid reads the file again when the call runs.
func outdated(planned *changeList, path string, reported *string) bool {
	c := planned.whole(path)
	return c != nil && c.old != nil && reported != nil && *reported != "" && *reported != *c.old
}

// fileChanges returns the changes of one file in a patch: two if it is renamed. droid sends no new text, or "", for a deleted file, and
// none if the patch does not fit; then the planned changes are used, if any.
func fileChanges(f stream.PermissionFile, planned *changeList, cwd string) []fileChange {
	path, to := paths.Absolute(cwd, f.FilePath), paths.Absolute(cwd, f.MoveTo)
	if f.Operation == "delete" {
		f.NewContent = nil
	}
	if f.NewContent == nil {
		own := planned.of(path)
		if to != path {
			own = append(own, planned.of(to)...)
		}
		if own != nil || f.Operation != "delete" {
			return own
		}
	}
	old := before(planned, path, f.OldContent)
	if f.MoveTo == "" {
		return []fileChange{old.to(f.NewContent)}
	}
	return []fileChange{old.to(nil), before(planned, to, nil).to(f.NewContent)}
}

// before returns the change of a file whose new text is still to be set. For a file that the call creates, droid omits the old text or
// sends "", even if the call overwrites a file (0.99 to 0.225). Then the text read when the call was planned is used; if it could not be
// read, the old text is unknown.
func before(planned *changeList, path string, reported *string) fileChange {
	if reported != nil && *reported != "" {
		return whole(path, reported, nil)
	}
	if c := planned.whole(path); c != nil {
		return *c
	}
	return over(path, nil, false, nil)
}

// replaced returns the planned changes with those of one file replaced by reported.
func replaced(planned []fileChange, reported fileChange) []fileChange {
	var out []fileChange
	put := false
	for _, c := range planned {
		switch {
		case c.path != reported.path:
			out = append(out, c)
		case !put:
			out, put = append(out, reported), true
		}
	}
	if !put {
		out = append([]fileChange{reported}, out...)
	}
	return out
}
