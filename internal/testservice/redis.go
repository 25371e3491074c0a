package testservice

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
)

// RedisEnv is the variable with the URL of a Redis server that tests shall use instead of their own.
const RedisEnv = "SCRIPTORIUM_TEST_REDIS_URL"

// redisScript serves without ever writing to disk.
const redisScript = `
redis-server --bind 127.0.0.1 --port "$PORT" --requirepass "$REDISCLI_AUTH" --save '' --appendonly no >&2 &
server=$!
tries=0
until redis-cli -h 127.0.0.1 -p "$PORT" ping 2>/dev/null | grep -q PONG; do
	kill -0 "$server" 2>/dev/null || exit 1
	tries=$((tries + 1))
	[ "$tries" -le 600 ] || { kill -KILL "$server"; exit 1; }
	sleep 0.05
done
echo ready
read -r _
kill "$server"
wait "$server"
`

// Redis starts a Redis server.
func Redis() (*Service, error) {
	for _, program := range []string{"redis-server", "redis-cli"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, errors.New("these tests need Redis: apt-get install redis-server, or set " + RedisEnv)
		}
	}
	return withPort("Redis", func(port int, password string) (*Service, error) {
		service, err := start(server{
			script:      redisScript,
			environment: []string{"PORT=" + strconv.Itoa(port), "REDISCLI_AUTH=" + password},
		})
		if err != nil {
			return nil, err
		}
		service.URL = fmt.Sprintf("redis://:%s@127.0.0.1:%d/0", password, port)
		return service, nil
	})
}
