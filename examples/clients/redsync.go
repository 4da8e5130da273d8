// redsync: Redlock over all nodes, by go-redis with its defaults; it says until when a lock is valid.
package main

import (
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	client "github.com/redis/go-redis/v9"
)

var version string // set when it is built

type mutex struct{ *redsync.Mutex }

func (lock mutex) Extend() error {
	done, err := lock.Mutex.Extend()
	return explained(done, err, errLost)
}

func (lock mutex) Release() error {
	done, err := lock.Unlock()
	return explained(done, err, errLost)
}

// Whether others have the lock, or nodes are missing.
func explained(done bool, err, others error) error {
	var taken *redsync.ErrTaken
	var node *redsync.RedisError
	if done {
		return nil
	}
	if !errors.As(err, &taken) && errors.As(err, &node) {
		return errOutage
	}
	return others
}

func main() {
	serve("redsync", version, []string{"extend", "validity"}, func(start Start) func(string, time.Duration) (Lock, error) {
		var pools []redis.Pool
		for _, url := range start.Nodes {
			options, err := client.ParseURL(url)
			if err != nil {
				panic("the URL of a node can't be read")
			}
			pools = append(pools, goredis.NewPool(client.NewClient(options)))
		}
		locks := redsync.New(pools...)
		return func(key string, wait time.Duration) (Lock, error) {
			// Its own delay between tries is 150 ms on average.
			tries := redsync.WithTries(1 + int(wait/(150*time.Millisecond)))
			lock := locks.NewMutex(key, redsync.WithExpiry(start.TTL), tries)
			err := lock.Lock()
			return mutex{lock}, explained(err == nil, err, errBusy)
		}
	})
}
