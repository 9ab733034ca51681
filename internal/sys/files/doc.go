// Package files is the only way to the disk. It reads regular files up to a maximum size, replaces files atomically (Draft), locks files
// across processes (Locks), and bounds calls that may hang on a dead NFS or FUSE mount (CallLimiter). Every package that touches the file
// system uses it; it does not know what is in the files.
package files
