// Redisson's RLock: one node, or the master that Sentinels name. Its watchdog renews.

import com.fasterxml.jackson.databind.JsonNode;
import java.net.ConnectException;
import java.net.URI;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.*;
import org.redisson.client.*;
import org.redisson.config.Config;

final class RedissonAdapter implements LockstormClient.Locks<RedissonAdapter.Held> {
    /** Redisson's locks belong to threads, by number, and one may take a lock twice: so each gets a number of its own. */
    record Held(RLock lock, long thread) {}
    private final AtomicLong threads = new AtomicLong();
    private final RedissonClient redisson;
    private final long lease;

    RedissonAdapter(JsonNode start) {
        lease = start.get("renew").asBoolean() ? -1 : start.get("ttl_ms").asLong();
        var config = new Config().setLockWatchdogTimeout(start.get("ttl_ms").asLong());
        var node = URI.create(start.get("nodes").get(0).asText());
        config.setPassword(node.getUserInfo() == null ? null : node.getUserInfo().replaceFirst(".*:", ""));
        if (start.get("sentinels").isEmpty()) {
            config.useSingleServer().setAddress("redis://" + node.getAuthority().replaceFirst(".*@", ""));
        } else {
            var sentinels = config.useSentinelServers().setMasterName(start.get("master").asText());
            start.get("sentinels").forEach(url -> sentinels.addSentinelAddress(url.asText().replaceFirst("//.*@", "//")));
            sentinels.setSentinelPassword(config.getPassword());
        }
        redisson = Redisson.create(config);
    }

    public Held acquire(String key, long waitMs) throws Exception {
        var held = new Held(redisson.getLock(key), threads.incrementAndGet());
        return result(held.lock.tryLockAsync(waitMs, lease, TimeUnit.MILLISECONDS, held.thread)) ? held : null;
    }

    public boolean release(Held held) throws Exception {
        return result(held.lock.unlockAsync(held.thread).thenApply(done -> true));
    }

    private static boolean result(CompletionStage<Boolean> of) throws Exception {
        try {
            return of.toCompletableFuture().join();
        } catch (CompletionException error) {
            var why = error.getCause();
            if (why instanceof IllegalMonitorStateException) return false;
            var away = why instanceof ConnectException || why instanceof RedisConnectionException || why instanceof RedisNodeNotFoundException;
            throw away ? new LockstormClient.Outage(why) : (Exception) why;
        }
    }

    public static void main(String[] version) throws Exception {
        LockstormClient.serve(RedissonAdapter::new, "redisson", version[0], List.of("renew"), 1);
    }
}
