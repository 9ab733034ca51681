package show

import (
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/text/paths"
)

// askedChanges are the changes that droid itself describes when it asks for permission,
// and of those the call had planned the ones of which droid says nothing: of a patch of
// several files 0.99 describes the first at most.
func askedChanges(tool stream.PermissionToolUse, already []change, cwd string) []change {
	d, planned := tool.Details, listed(already)
	path := paths.Absolute(cwd, d.FilePath)
	switch {
	case tool.Confirmation == "create" && d.Content != nil:
		return []change{before(planned, path, nil).to(d.Content)}
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
		return []change{whole(path, d.OldContent, d.NewContent)}
	}
	return planned.list
}

// outdated reports whether the text on which droid bases its description is no longer
// that of the file: what was unsaved in the editor has been saved since droid asked
// (0.99). droid reads the file once more when the call runs.
func outdated(planned *changeList, path string, told *string) bool {
	c := planned.whole(path)
	return c != nil && c.old != nil && told != nil && *told != "" && *told != *c.old
}

// fileChanges are the changes that a patch makes to one file: two where the file gets a
// new name. For a file that is deleted droid gives no new text, or "", and where the patch
// does not fit it gives none; then the planned changes count. It is nil where there are
// none of those either.
func fileChanges(f stream.PermissionFile, planned *changeList, cwd string) []change {
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
		return []change{old.to(f.NewContent)}
	}
	return []change{old.to(nil), before(planned, to, nil).to(f.NewContent)}
}

// before is the change of a file whose new text is still to be put in. For a file that the call creates droid
// leaves the old one out, or says "", also where the call overwrites a file (0.99 to 0.225). Then what was
// read when the call was planned is right, and where it could not be read, nobody knows.
func before(planned *changeList, path string, told *string) change {
	if told != nil && *told != "" {
		return whole(path, told, nil)
	}
	if c := planned.whole(path); c != nil {
		return *c
	}
	return over(path, nil, false, nil)
}

// replaced are the planned changes with what droid tells of one file in place of
// theirs.
func replaced(planned []change, told change) []change {
	var out []change
	put := false
	for _, c := range planned {
		switch {
		case c.path != told.path:
			out = append(out, c)
		case !put:
			out, put = append(out, told), true
		}
	}
	if !put {
		out = append([]change{told}, out...)
	}
	return out
}
