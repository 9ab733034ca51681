package files

const (
	noWait   = 0
	noFollow = 0
)
