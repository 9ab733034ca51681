// Package files is the one way to the disk: regular files are read within bounds of size,
// files are written whole or not at all, files are locked for all processes, and what may
// hang (a dead NFS or FUSE mount) runs beside its caller within a bound of time. It knows
// nothing of what is in the files.
package files
