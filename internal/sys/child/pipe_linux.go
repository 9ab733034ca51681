package child

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writerGone is the event that the writer of a socket has closed its side; that of a pipe is a hangup.
const writerGone = unix.POLLRDHUP

// pipe is the reading end of a pipe which Go's poller does not know: that would be woken by each write,
// also while nobody reads. It has an epoll of its own, which tells one event each time that it is asked
// to, and which Go's poller knows.
type pipe struct {
	fd   int // of the pipe, which does not wait
	told *os.File
	conn syscall.RawConn // of told

	mu     sync.RWMutex // held while fd is used
	closed bool
}

// TakePipe is the reading end of a pipe that is f, which was taken and is not to be used any more. Who writes
// there while nobody reads wakes nobody here. Elsewhere than on Linux, and for what is no pipe, it is f
// itself. It is for one reader: Read is for one goroutine at a time, as of two that wait one may not be woken,
// and no other process should read there, since reading no longer waits for any of them (O_NONBLOCK is the
// pipe's, not the descriptor's). Close may be called from any goroutine.
func TakePipe(f *os.File) io.ReadCloser {
	p, err := newPipe(f)
	if err != nil {
		return f
	}
	_ = f.Close() // p has it
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
	p.told = os.NewFile(uintptr(e), f.Name())
	p.conn, err = p.told.SyscallConn()
	return p, err
}

// Read reads what is there, and waits until something is. Close ends the waiting.
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
		if err := p.conn.Read(p.happened); err != nil {
			return 0, os.ErrClosed
		}
	}
}

// readNow reads what is there. Where nothing is (EAGAIN), the epoll will tell when something comes.
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

// arm has the epoll tell the next event, or the one that is there already. Its error is EAGAIN then.
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

// happened takes the event that was told.
func (p *pipe) happened(e uintptr) bool {
	var event unix.EpollEvent
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, e, uintptr(unsafe.Pointer(&event)), 1, 0, 0, 0) // does not wait
	if errno != 0 {
		return errno != unix.EINTR
	}
	return n > 0
}

// Close ends a Read that waits, and those that come.
func (p *pipe) Close() error {
	err := p.told.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return os.ErrClosed
	}
	p.closed = true
	_ = unix.Close(p.fd) // nothing was written
	return err
}
