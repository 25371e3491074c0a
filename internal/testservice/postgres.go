package testservice

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// PostgresEnv is the variable with the URL of a PostgreSQL server that tests shall use instead of their own: a superuser's, because
// each test makes its own database.
const PostgresEnv = "SCRIPTORIUM_TEST_POSTGRES_URL"

// debianPostgres is where Debian and Ubuntu keep the servers, a folder a version.
const debianPostgres = "/usr/lib/postgresql/*/bin"

// postgresScript makes a cluster and serves it. Its texts sort by the rules of a language, as those of most installations do, so that a
// query that relies on the order of bytes fails here. Nothing is written for safety: the data is thrown away.
const postgresScript = `
umask 077
printf %s "$PASSWORD" >password
"$BIN/initdb" -D data -U scriptorium --auth=password --pwfile=password --no-sync --no-instructions \
	--encoding=UTF8 --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US >&2 || exit 1
cat >>data/postgresql.conf <<END
listen_addresses = '127.0.0.1'
port = $PORT
unix_socket_directories = ''
max_connections = 400
shared_buffers = 64MB
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 4GB
checkpoint_timeout = 1h
autovacuum = off
deadlock_timeout = 100ms
END
"$BIN/pg_ctl" -D data -w -t 60 -l server.log start >&2 || { cat server.log >&2; exit 1; }
echo ready
read -r _
"$BIN/pg_ctl" -D data -m immediate -w stop >&2
`

// Postgres starts a PostgreSQL server. Run as root it serves as the user postgres: PostgreSQL refuses to be root.
func Postgres() (*Service, error) {
	bin, err := postgresFolder()
	if err != nil {
		return nil, err
	}
	credential, err := postgresUser()
	if err != nil {
		return nil, err
	}
	return withPort("PostgreSQL", func(port int, password string) (*Service, error) {
		service, err := start(server{
			script:      postgresScript,
			environment: []string{"BIN=" + bin, "PORT=" + strconv.Itoa(port), "PASSWORD=" + password, "LC_ALL=C.UTF-8"},
			credential:  credential,
		})
		if err != nil {
			return nil, err
		}
		service.URL = fmt.Sprintf("postgres://scriptorium:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port)
		return service, nil
	})
}

// postgresFolder is the folder with the newest server's programs.
func postgresFolder() (string, error) {
	found, _ := filepath.Glob(filepath.Join(debianPostgres, "initdb"))
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", errors.New("these tests need PostgreSQL: apt-get install postgresql, or set " + PostgresEnv)
}

// postgresUser is whose process the server is, nil for our own user.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres to run it as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
