<?php
// malkusch/lock's PHPRedisMutex: Redlock over all nodes, one after the other. It holds a lock for one call (`synchronized`), in whole
// seconds; here that call's beginning and end are apart. It can't extend.
require 'Malkusch/Lock/autoload.php';
require __DIR__ . '/lockstorm_client.php';

use malkusch\lock\exception\LockAcquireException;
use malkusch\lock\mutex\PHPRedisMutex;

final class Opened extends PHPRedisMutex
{
    public function take(string $key, int $seconds): bool { return $this->acquire($key, $seconds); }

    public function give(string $key): bool { return $this->release($key); }
}

final class Locks
{
    /** Null where a connection is to be made anew, as the next request of a web server would. */
    private array $nodes;
    private int $seconds;

    public function __construct(private array $start)
    {
        $this->nodes = array_fill(0, count($start['nodes']), null);
        $this->seconds = max(1, intdiv($start['ttl_ms'], 1000));
    }

    public function acquire(string $key)
    {
        foreach ($this->start['nodes'] as $place => $url) {
            try {
                $this->nodes[$place] ??= connect($url);
                $this->nodes[$place]->ping();
            } catch (RedisException) {
                $this->nodes[$place] = null;
            }
        }
        $up = array_values(array_filter($this->nodes));
        if (2 * count($up) <= count($this->nodes)) {
            throw new RedisException('most nodes are down');
        }
        // A node that is down is given to it as one that fails.
        $all = array_map(fn ($node) => $node ?? new Redis(), $this->nodes);
        $mutex = new Opened($all, $key, $this->seconds);
        return $mutex->take($key, $this->seconds) ? [$mutex, $key] : null;
    }

    public function release($held): bool
    {
        return $held[0]->give($held[1]);
    }
}

$version = trim((string) shell_exec("dpkg-query -W -f '\${Version}' php-malkusch-lock 2>/dev/null"));
serve(fn ($start) => new Locks($start), 'malkusch-lock', $version, [], [LockAcquireException::class, RedisException::class]);
