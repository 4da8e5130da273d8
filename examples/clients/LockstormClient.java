// lockstorm-client/1 for Java 17: an adapter implements Locks, and this talks. It reads JSON by Jackson, which Redisson brings along.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.function.Function;

final class LockstormClient {
    /** The locks of a library. Whatever else these throw is shown. */
    interface Locks<L> {
        /** Acquires within so many milliseconds; null while somebody else holds it. */
        L acquire(String key, long waitMs) throws Exception;

        /** False: it was not held any more. */
        boolean release(L lock) throws Exception;

        /** Only if it can "extend". False: it was not held any more. */
        default boolean extend(L lock) throws Exception {
            throw new UnsupportedOperationException();
        }

        /** Only if it can "validity": by System.nanoTime(). */
        default Long until(L lock) {
            return null;
        }
    }

    /** Servers are missing. */
    static final class Outage extends Exception {
        Outage(Throwable cause) {
            super(cause);
        }
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = System.out;

    /** Talks until Lockstorm is done. connect is given the first message. nodes: on how many of the nodes a lock is, or null for all. */
    static <L> void serve(Function<JsonNode, Locks<L>> connect, String name, String version, List<String> can, Integer nodes)
            throws IOException {
        // Whatever the library prints goes to stderr.
        System.setOut(System.err);
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        JsonNode start = JSON.readTree(lines.readLine());
        Locks<L> locks = connect.apply(start);
        Map<Long, L> held = new ConcurrentHashMap<>();
        ObjectNode hello = JSON.createObjectNode().put("op", "started").put("name", name).put("version", version);
        hello.put("language", "java").putPOJO("can", can);
        if (nodes != null && start.get("cluster").isEmpty()) {
            hello.put("nodes", nodes);
        }
        say(hello);
        var threads = Executors.newCachedThreadPool();
        for (String line; (line = lines.readLine()) != null; ) {
            JsonNode order = JSON.readTree(line);
            switch (order.get("op").asText()) {
                case "stop" -> System.exit(0);
                case "clock" -> say(answer(order).put("t", System.nanoTime()));
                default -> threads.execute(() -> say(obey(locks, held, order)));
            }
        }
        System.exit(0);
    }

    private static <L> ObjectNode obey(Locks<L> locks, Map<Long, L> held, JsonNode order) {
        boolean acquires = order.get("op").asText().equals("acquire");
        try {
            if (acquires) {
                L lock = locks.acquire(order.get("key").asText(), order.get("wait_ms").asLong());
                if (lock == null) {
                    return answer(order).put("is", "busy");
                }
                held.put(order.get("id").asLong(), lock);
                return promise(locks, lock, answer(order).put("is", "held"));
            }
            if (order.get("op").asText().equals("extend")) {
                L lock = held.get(order.get("of").asLong());
                boolean done = lock != null && locks.extend(lock);
                return done ? promise(locks, lock, answer(order).put("is", "extended")) : answer(order).put("is", "lost");
            }
            boolean done = locks.release(held.remove(order.get("of").asLong()));
            return answer(order).put("is", done ? "released" : "lost");
        } catch (Outage error) {
            return answer(order).put("is", acquires ? "outage" : "unknown");
        } catch (Exception error) {
            return answer(order).put("is", "error").put("definite", false).put("text", error.toString());
        }
    }

    private static <L> ObjectNode promise(Locks<L> locks, L lock, ObjectNode answer) {
        Long until = locks.until(lock);
        return until == null ? answer : answer.put("until", until);
    }

    private static ObjectNode answer(JsonNode order) {
        return JSON.createObjectNode().set("id", order.get("id"));
    }

    private static synchronized void say(ObjectNode answer) {
        OUT.println(answer);
        OUT.flush();
    }
}
