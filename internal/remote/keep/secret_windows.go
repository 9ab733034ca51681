package keep

import "io/fs"

// secretFault returns "": files are in directories of the user, whose access list they inherit.
func secretFault(fs.FileInfo) (fault, remedy string) { return "", "" }
