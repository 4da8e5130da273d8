<?php
// lockstorm-client/1 for PHP. An adapter names an object with acquire(key), release(lock) and perhaps extend(lock) and until(lock), and this
// talks. PHP does one thing at a time: whoever waits for a lock tries again every 10 ms.
//
//   acquire: a lock, or null or false while somebody else holds it; release, extend: false or 0 if it was not held any more;
//   until: nanoseconds of hrtime(true). $outage: exceptions that say that servers are missing.

function serve(callable $make, string $name, string $version, array $can, array $outage, ?int $nodes = null): void
{
    $start = json_decode(fgets(STDIN), true);
    $locks = $make($start);
    $hello = ['op' => 'started', 'name' => $name, 'version' => $version, 'language' => 'php', 'can' => $can];
    say($nodes === null ? $hello : $hello + ['nodes' => $nodes]);
    stream_set_blocking(STDIN, false);
    [$rest, $held, $waiting] = ['', [], []];
    while (true) {
        [$read, $none, $no] = [[STDIN], null, null];
        stream_select($read, $none, $no, $waiting ? 0 : 60, $waiting ? 10_000 : 0);
        $rest .= $read ? (string) fread(STDIN, 65_536) : '';
        if (feof(STDIN)) {
            return;
        }
        $lines = explode("\n", $rest);
        $rest = array_pop($lines);
        foreach ($lines as $line) {
            $order = json_decode($line, true);
            if ($order['op'] === 'stop') {
                return;
            } elseif ($order['op'] === 'clock') {
                say(['id' => $order['id'], 't' => hrtime(true)]);
            } elseif ($order['op'] === 'acquire') {
                $waiting[] = [$order, hrtime(true) + $order['wait_ms'] * 1_000_000];
            } else {
                say(['id' => $order['id']] + obey($locks, $held, $order));
            }
        }
        foreach ($waiting as $place => [$order, $until]) {
            $answer = attempt($locks, $held, $order, $outage);
            if ($answer['is'] !== 'busy' || hrtime(true) >= $until) {
                unset($waiting[$place]);
                say(['id' => $order['id']] + $answer);
            }
        }
    }
}

function say(array $answer): void
{
    fwrite(STDOUT, json_encode($answer) . "\n");
}

function promise(object $locks, $lock): array
{
    return method_exists($locks, 'until') ? ['until' => $locks->until($lock)] : [];
}

function attempt(object $locks, array &$held, array $order, array $outage): array
{
    try {
        $lock = $locks->acquire($order['key']);
    } catch (Throwable $error) {
        foreach ($outage as $kind) {
            if ($error instanceof $kind) {
                return ['is' => 'outage'];
            }
        }
        return ['is' => 'error', 'definite' => false, 'text' => get_class($error) . ': ' . $error->getMessage()];
    }
    if ($lock === null || $lock === false) {
        return ['is' => 'busy'];
    }
    $held[$order['id']] = $lock;
    return ['is' => 'held'] + promise($locks, $lock);
}

function obey(object $locks, array &$held, array $order): array
{
    $lock = $held[$order['of']] ?? null;
    try {
        if ($order['op'] === 'extend') {
            $is_lost = $lock === null || is_no($locks->extend($lock));
            return $is_lost ? ['is' => 'lost'] : ['is' => 'extended'] + promise($locks, $lock);
        }
        unset($held[$order['of']]);
        return ['is' => is_no($locks->release($lock)) ? 'lost' : 'released'];
    } catch (Throwable $error) {
        return ['is' => 'error', 'definite' => false, 'text' => get_class($error) . ': ' . $error->getMessage()];
    }
}

/** Scripts answer with 0 as often as with false. Who answers nothing has done it. */
function is_no($answer): bool
{
    return $answer === false || $answer === 0;
}

/** A connection of phpredis to this URL. */
function connect(string $url): Redis
{
    $at = parse_url($url);
    $redis = new Redis();
    $redis->connect($at['host'], $at['port'], 1.0, null, 0, 1.0);
    if (isset($at['pass'])) {
        $redis->auth(rawurldecode($at['pass']));
    }
    return $redis;
}
