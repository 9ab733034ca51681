package subprocess

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writerGone is the poll event of a socket whose writer has closed its side. A pipe reports a hangup.
const writerGone = unix.POLLRDHUP

// pipe is the read end of a pipe that Go's poller does not watch: the poller would be woken by each write, even while nobody reads. It has
// its own one-shot epoll, which Go's poller does watch.
type pipe struct {
	fd    int // of the pipe, non-blocking
	epoll *os.File
	conn  syscall.RawConn // of epoll

	mu     sync.RWMutex // held while fd is used
	closed bool
}

// newPipeReader returns a reader of the pipe f, which must not be used any more. Writes do not wake this process while nobody reads. On other
// systems than Linux, and if f is not a pipe, it returns f.
//
// Only one goroutine may call Read at a time, as of two waiting ones one may not be woken, and no other process should read, since
// O_NONBLOCK applies to the pipe and not to the descriptor. Close may be called from any goroutine.
func newPipeReader(f *os.File) io.ReadCloser {
	p, err := newPipe(f)
	if err != nil {
		return f
	}
	_ = f.Close() // p has a duplicate
	return p
}

func newPipe(f *os.File) (_ *pipe, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := new(pipe)
	var failed error
	if err := conn.Control(func(fd uintptr) {
		p.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	e, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(e, unix.EPOLL_CTL_ADD, p.fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT})
	}
	if err == nil {
		err = unix.SetNonblock(e, true)
	}
	if err == nil {
		err = unix.SetNonblock(p.fd, true)
	}
	if err != nil {
		_ = unix.Close(p.fd)
		if e >= 0 {
			_ = unix.Close(e)
		}
		return nil, err
	}
	p.epoll = os.NewFile(uintptr(e), f.Name())
	p.conn, err = p.epoll.SyscallConn()
	return p, err
}

// Read reads what is available, waiting if there is nothing. Close ends the wait.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		n, err := p.readNow(b)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
		if err := p.conn.Read(p.consumeEvent); err != nil {
			return 0, os.ErrClosed
		}
	}
}

// readNow reads what is available. If it returns EAGAIN, the epoll is armed.
func (p *pipe) readNow(b []byte) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return 0, os.ErrClosed
	}
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN:
		return 0, p.arm()
	}
	return 0, errno
}

// arm makes the epoll report the next event, or one that is pending, and returns EAGAIN on success.
func (p *pipe) arm() error {
	var err error
	if e := p.conn.Control(func(e uintptr) {
		err = unix.EpollCtl(int(e), unix.EPOLL_CTL_MOD, p.fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT})
	}); e != nil {
		return os.ErrClosed
	}
	if err != nil {
		return err
	}
	return unix.EAGAIN
}

// consumeEvent consumes the event that the epoll reported.
func (p *pipe) consumeEvent(e uintptr) bool {
	var event unix.EpollEvent
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, e, uintptr(unsafe.Pointer(&event)), 1, 0, 0, 0) // does not wait
	if errno != 0 {
		return errno != unix.EINTR
	}
	return n > 0
}

// Close closes the pipe and ends a waiting Read.
func (p *pipe) Close() error {
	err := p.epoll.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return os.ErrClosed
	}
	p.closed = true
	_ = unix.Close(p.fd) // nothing was written
	return err
}
