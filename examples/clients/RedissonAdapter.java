// Redisson's RLock: one node, the master that Sentinels name, or a cluster. Its watchdog renews.

import com.fasterxml.jackson.databind.JsonNode;
import java.net.ConnectException;
import java.net.URI;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.*;
import org.redisson.client.*;
import org.redisson.command.NoSyncedSlavesException;
import org.redisson.config.Config;

final class RedissonAdapter implements LockstormClient.Locks<RedissonAdapter.Held> {
    /** Redisson's locks belong to threads, by number, and one may take a lock twice: so each gets a number of its own. */
    record Held(RLock lock, long thread) {}
    /** Servers are missing; some come as the cause of another. Of a timeout it is not known what was done. */
    private static final List<Class<?>> AWAY = List.of(ConnectException.class, RedisConnectionException.class,
        RedisNodeNotFoundException.class, RedisClusterDownException.class, RedisLoadingException.class, NoSyncedSlavesException.class);
    private final AtomicLong threads = new AtomicLong();
    private final RedissonClient redisson;
    private final long lease;

    RedissonAdapter(JsonNode start) {
        lease = start.get("renew").asBoolean() ? -1 : start.get("ttl_ms").asLong();
        var config = new Config().setLockWatchdogTimeout(start.get("ttl_ms").asLong());
        JsonNode cluster = start.get("cluster"), places = start.get("sentinels"), nodes = start.get("nodes");
        var secret = URI.create((cluster.isEmpty() ? nodes : cluster).get(0).asText()).getUserInfo();
        config.setPassword(secret == null ? null : secret.replaceFirst("^[^:]*:", ""));
        if (!cluster.isEmpty()) cluster.forEach(url -> config.useClusterServers().addNodeAddress(address(url)));
        else if (places.isEmpty()) config.useSingleServer().setAddress(address(nodes.get(0)));
        else {
            var sentinels = config.useSentinelServers().setMasterName(start.get("master").asText());
            places.forEach(url -> sentinels.addSentinelAddress(address(url)));
            sentinels.setSentinelPassword(config.getPassword());
        }
        redisson = Redisson.create(config);
    }
    private static String address(JsonNode url) { return url.asText().replaceFirst("//.*@", "//"); }
    public Held acquire(String key, long waitMs) throws Exception {
        var held = new Held(redisson.getLock(key), threads.incrementAndGet());
        return result(held.lock.tryLockAsync(waitMs, lease, TimeUnit.MILLISECONDS, held.thread)) ? held : null;
    }
    public boolean release(Held held) throws Exception { return result(held.lock.unlockAsync(held.thread).thenApply(done -> true)); }
    private static boolean result(CompletionStage<Boolean> of) throws Exception {
        try {
            return of.toCompletableFuture().join();
        } catch (CompletionException error) {
            if (error.getCause() instanceof IllegalMonitorStateException) return false;
            for (Throwable why = error; why != null; why = why.getCause()) {
                for (var away : AWAY) if (away.isInstance(why)) throw new LockstormClient.Outage(why);
            }
            throw (Exception) error.getCause();
        }
    }
    public static void main(String[] version) throws Exception {
        LockstormClient.serve(RedissonAdapter::new, "redisson", version[0], List.of("renew"), 1);
    }
}
