// lockstorm-client/1 for Go: an adapter gives serve a function that acquires, and this talks. Build both files together.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"
)

// Lock is a lock that is held. Its errors: errLost if it was not held any more, errOutage if servers are missing, or any other.
type Lock interface {
	Extend() error
	Release() error
	Until() time.Time // of a library that can "validity"
}

// Start is the first message.
type Start struct {
	Nodes, Sentinels, Cluster []string
	Master                    string
	TTL                       time.Duration `json:"-"`
	TTLMs                     int64         `json:"ttl_ms"`
	Renew                     bool
	Workers                   int
}

var (
	errBusy   = errors.New("somebody else holds it")
	errLost   = errors.New("it was not held any more")
	errOutage = errors.New("servers are missing")
)

type answer map[string]any

// serve talks until Lockstorm is done. acquire waits no longer than it is told to; its errors: errBusy, errOutage, or any other.
func serve(name, version string, can []string, connect func(Start) func(key string, wait time.Duration) (Lock, error)) {
	var start Start
	began, lines, out := time.Now(), bufio.NewScanner(os.Stdin), os.Stdout
	// Whatever the library prints goes to stderr.
	os.Stdout = os.Stderr
	var turn, books sync.Mutex
	say := func(what answer) {
		line, _ := json.Marshal(what)
		turn.Lock()
		defer turn.Unlock()
		out.Write(append(line, '\n'))
	}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &start) != nil {
		return
	}
	start.TTL = time.Duration(start.TTLMs) * time.Millisecond
	acquire, held := connect(start), map[uint64]Lock{}
	say(answer{"op": "started", "name": name, "version": version, "language": "go", "can": can})
	for lines.Scan() {
		var it struct {
			Op, Key string
			ID, Of  uint64
			WaitMs  int64 `json:"wait_ms"`
		}
		if json.Unmarshal(lines.Bytes(), &it) != nil || it.Op == "stop" {
			return
		}
		books.Lock()
		lock := held[it.Of]
		if it.Op == "release" {
			delete(held, it.Of)
		}
		books.Unlock()
		done := func(is string, err error) {
			what := answer{"id": it.ID, "is": is}
			switch {
			case errors.Is(err, errBusy):
				what["is"] = "busy"
			case errors.Is(err, errLost):
				what["is"] = "lost"
			case errors.Is(err, errOutage) && it.Op == "acquire":
				what["is"] = "outage"
			case errors.Is(err, errOutage):
				what["is"] = "unknown"
			case err != nil:
				what["is"], what["definite"], what["text"] = "error", false, err.Error()
			case it.Op != "release" && !lock.Until().IsZero():
				what["until"] = lock.Until().Sub(began).Nanoseconds()
			}
			say(what)
		}
		switch it.Op {
		case "clock":
			say(answer{"id": it.ID, "t": time.Since(began).Nanoseconds()})
		case "acquire":
			go func() {
				var err error
				if lock, err = acquire(it.Key, time.Duration(it.WaitMs)*time.Millisecond); err == nil {
					books.Lock()
					held[it.ID] = lock
					books.Unlock()
				}
				done("held", err)
			}()
		case "extend":
			go func() { done("extended", lock.Extend()) }()
		case "release":
			go func() { done("released", lock.Release()) }()
		}
	}
}
