<?php
// Symfony's Lock with its RedisStore on phpredis: one node.
require 'Symfony/Component/Lock/autoload.php';
require __DIR__ . '/lockstorm_client.php';

use Symfony\Component\Lock\Exception\LockAcquiringException;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

final class Locks
{
    private ?LockFactory $factory = null;
    private float $ttl;

    public function __construct(private array $start)
    {
        $this->ttl = $start['ttl_ms'] / 1000;
    }

    public function acquire(string $key)
    {
        try {
            $this->factory ??= new LockFactory(new RedisStore(connect($this->start['nodes'][0]), $this->ttl));
            $lock = $this->factory->createLock($key, $this->ttl, false);
            return $lock->acquire(false) ? $lock : null;
        } catch (LockAcquiringException | RedisException $error) {
            // The next request of a web server would connect anew.
            $this->factory = null;
            throw $error;
        }
    }

    public function extend($lock): bool
    {
        try {
            $lock->refresh();
            return true;
        } catch (LockConflictedException) {
            return false;
        }
    }

    public function until($lock): int
    {
        return hrtime(true) + (int) ($lock->getRemainingLifetime() * 1e9);
    }

    public function release($lock): bool
    {
        $held = $lock->isAcquired();
        $lock->release();
        return $held;
    }
}

$version = trim((string) shell_exec("dpkg-query -W -f '\${Version}' php-symfony-lock 2>/dev/null"));
serve(fn ($start) => new Locks($start), 'symfony-lock', $version, ['extend', 'validity'], [LockAcquiringException::class, RedisException::class], 1);
