// lockstorm-client/1 for C#: an adapter derives from Locks, and this talks. It needs .NET 5 or newer, or Mono, and no package.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using System.Xml;
using System.Xml.Linq;

static class LockstormClient
{
    /// <summary>The locks of a library. Whatever else these throw is shown.</summary>
    public abstract class Locks<L> where L : class
    {
        /// <summary>Acquires within so many milliseconds; null while somebody else holds it.</summary>
        public abstract Task<L> Acquire(string key, long waitMs);
        /// <summary>False: it was not held any more.</summary>
        public abstract Task<bool> Release(L held);
        /// <summary>Only if it can "extend". False: it was not held any more.</summary>
        public virtual Task<bool> Extend(L held) { throw new NotSupportedException(); }
        /// <summary>Only if it can "validity": by Now().</summary>
        public virtual long? Until(L held) { return null; }
        /// <summary>Only if it can "lost": asked every few milliseconds while it is held, and must not wait.</summary>
        public virtual bool IsLost(L held) { return false; }
    }

    /// <summary>Servers are missing.</summary>
    public sealed class Outage : Exception
    {
        public Outage(string why) : base(why) { }
    }

    private static readonly object Turn = new object();
    private static readonly TextWriter Out = new StreamWriter(Console.OpenStandardOutput()) { AutoFlush = true };

    /// <summary>Nanoseconds of a clock that never steps.</summary>
    public static long Now() { return Stopwatch.GetTimestamp() * (1000000000 / Stopwatch.Frequency); }

    /// <summary>Talks until Lockstorm is done. connect is given the first message: each field is an element. nodes: on how many of the
    /// nodes a lock is, or null for all.</summary>
    public static void Serve<L>(Func<XElement, Locks<L>> connect, string name, string version, string[] can, int? nodes = null)
        where L : class
    {
        // Whatever the library prints goes to stderr.
        Console.SetOut(Console.Error);
        var lines = new StreamReader(Console.OpenStandardInput());
        XElement start = Read(lines.ReadLine());
        // Threads beyond this start late, and libraries block some: several for each lock.
        int threads = 4 * (int)start.Element("workers");
        ThreadPool.SetMinThreads(threads, threads);
        Locks<L> locks = connect(start);
        var held = new Dictionary<long, L>();
        string on = nodes == null || start.Element("cluster").HasElements ? "" : ",\"nodes\":" + nodes;
        Say("\"op\":\"started\",\"name\":" + Quote(name) + ",\"version\":" + Quote(version) + ",\"language\":\"csharp\"" + on
            + ",\"can\":[" + string.Join(",", can.Select(Quote)) + "]");
        if (can.Contains("lost")) new Thread(() => Watch(locks, held)) { IsBackground = true }.Start();
        for (string line; (line = lines.ReadLine()) != null;)
        {
            XElement order = Read(line);
            string op = (string)order.Element("op");
            if (op == "stop") break;
            if (op == "clock") Say(Answer(order) + ",\"t\":" + Now());
            else Task.Run(() => Obey(locks, held, op, order));
        }
        Environment.Exit(0);
    }

    private static async Task Obey<L>(Locks<L> locks, Dictionary<long, L> held, string op, XElement order) where L : class
    {
        try
        {
            L one = null;
            if (op == "acquire") one = await locks.Acquire((string)order.Element("key"), (long)order.Element("wait_ms"));
            else lock (Turn) held.TryGetValue((long)order.Element("of"), out one);
            if (op == "release") lock (Turn) held.Remove((long)order.Element("of"));
            bool done = one != null;
            if (done && op == "release") done = await locks.Release(one);
            if (done && op == "extend") done = await locks.Extend(one);
            string until = done && op != "release" && locks.Until(one) is long t ? ",\"until\":" + t : "";
            string[] words = op == "acquire" ? new[] { "held", "busy" } : new[] { op == "extend" ? "extended" : "released", "lost" };
            lock (Turn)
            {
                // Its loss can be told from its answer on.
                if (done && op == "acquire") held[(long)order.Element("id")] = one;
                Say(Answer(order) + ",\"is\":" + Quote(words[done ? 0 : 1]) + until);
            }
        }
        catch (Outage)
        {
            Say(Answer(order) + ",\"is\":" + Quote(op == "acquire" ? "outage" : "unknown"));
        }
        catch (Exception error)
        {
            Say(Answer(order) + ",\"is\":\"error\",\"definite\":false,\"text\":" + Quote(error.GetType().Name + ": " + error.Message));
        }
    }

    private static void Watch<L>(Locks<L> locks, Dictionary<long, L> held) where L : class
    {
        for (var told = new HashSet<long>(); ; Thread.Sleep(2))
            lock (Turn)
                foreach (var one in held)
                    if (locks.IsLost(one.Value) && told.Add(one.Key)) Say("\"event\":\"lost\",\"of\":" + one.Key);
    }

    private static XElement Read(string line)
    {
        using (var json = JsonReaderWriterFactory.CreateJsonReader(Encoding.UTF8.GetBytes(line), XmlDictionaryReaderQuotas.Max))
            return XElement.Load(json);
    }

    private static string Answer(XElement order) { return "\"id\":" + order.Element("id").Value; }

    private static string Quote(string text)
    {
        var shown = text.Select(c => c < ' ' || c == '"' || c == '\\' ? "\\u" + ((int)c).ToString("x4") : c.ToString());
        return '"' + string.Concat(shown) + '"';
    }

    private static void Say(string fields)
    {
        lock (Turn) Out.WriteLine("{" + fields + "}");
    }
}
