// RedLock.net: Redlock over all nodes, by StackExchange.Redis with its defaults. It renews at half of the TTL, and nothing turns that off:
// its locks don't end while their holder lives, even where Lockstorm asks for locks that are not renewed.

using System;
using System.Linq;
using System.Net;
using System.Threading.Tasks;
using System.Xml.Linq;
using RedLockNet;
using RedLockNet.SERedis;
using RedLockNet.SERedis.Configuration;

sealed class RedLockNetAdapter : LockstormClient.Locks<IRedLock>
{
    /// <summary>Its own delay between tries is 200 ms on average.</summary>
    private static readonly TimeSpan Delay = TimeSpan.FromMilliseconds(200);
    private readonly RedLockFactory factory;
    private readonly TimeSpan ttl;

    private RedLockNetAdapter(XElement start)
    {
        ttl = TimeSpan.FromMilliseconds((long)start.Element("ttl_ms"));
        var nodes = start.Element("nodes").Elements().Select(url => Node(new Uri(url.Value))).ToList();
        // By default a try is three, with up to 400 ms between them, and goes on after the wait.
        factory = RedLockFactory.Create(nodes, new RedLockRetryConfiguration(retryCount: 1));
    }
    private static RedLockEndPoint Node(Uri url)
    {
        string secret = Uri.UnescapeDataString(url.UserInfo.Substring(url.UserInfo.IndexOf(':') + 1));
        return new RedLockEndPoint(new DnsEndPoint(url.DnsSafeHost, url.Port)) { Password = secret == "" ? null : secret };
    }
    public override async Task<IRedLock> Acquire(string key, long waitMs)
    {
        IRedLock held = await factory.CreateLockAsync(key, ttl, TimeSpan.FromMilliseconds(waitMs), Delay);
        if (held.IsAcquired) return held;
        if (held.Status == RedLockStatus.Conflicted) return null;
        // NoQuorum: too few nodes answered. Expired: they answered too late.
        throw new LockstormClient.Outage(held.Status + ", " + held.InstanceSummary);
    }
    /// <summary>Its users don't hear of a renewal that fails; they can ask.</summary>
    public override bool IsLost(IRedLock held) { return !held.IsAcquired; }
    /// <summary>It keeps to itself what the nodes answer to a release.</summary>
    public override async Task<bool> Release(IRedLock held)
    {
        bool was = held.IsAcquired;
        await held.DisposeAsync();
        return was;
    }
    private static void Main()
    {
        string version = typeof(RedLockFactory).Assembly.GetName().Version.ToString(3);
        LockstormClient.Serve(start => new RedLockNetAdapter(start), "redlock-net", version, new[] { "renew", "lost" });
    }
}
