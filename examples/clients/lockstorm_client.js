// lockstorm-client/1 for Node.js: an adapter names a class with acquire and release, and this talks.
//
//   class Locks {
//     constructor(start, lost) {}       // start is the first message; lost(lock) tells that a lock is lost, if it can tell "lost"
//     async ready() {}                  // only if it has to wait before locks can be acquired
//     async acquire(key, wait) {}       // wait in milliseconds; a lock, or null while somebody else holds it
//     async release(lock) {}            // false or 0: it was not held any more
//     async extend(lock) {}             // only if it can "extend"; false or 0: it was not held any more
//     until(lock) {}                    // only if it can "validity": milliseconds of Date.now()
//   }
//   serve(Locks, 'name of the library', 'its version', ['extend'])
//
// Whoever throws an Outage says that servers are missing; any other error is shown, and one with definite = true says that nothing was
// done. What a library prints by console.log goes to stderr.
const { createInterface } = require('node:readline')

// Require this file first: what libraries print while they are loaded goes to stderr, too.
console.log = console.info = console.debug = console.error

class Outage extends Error {}

// Scripts answer with 0 as often as with false. Who answers nothing has done it.
const isNo = (answer) => answer === false || answer === 0

const now = () => Number(process.hrtime.bigint())
let answers = []

// What is said in one turn of the event loop is written at once.
function say(answer) {
  if (answers.push(JSON.stringify(answer)) > 1) return
  setImmediate(() => {
    process.stdout.write(answers.join('\n') + '\n')
    answers = []
  })
}

function serve(Locks, name, version, can = [], nodes = undefined) {
  const held = new Map()
  let locks = null
  // Date.now() shows whole milliseconds: a promise may only be taken for shorter.
  const promise = (lock) => (locks.until ? { until: now() + Math.floor(locks.until(lock) - Date.now() - 1) * 1e6 } : {})

  async function obey(order) {
    if (order.op === 'acquire') {
      const lock = await locks.acquire(order.key, order.wait_ms)
      if (!lock) return { is: 'busy' }
      held.set(order.id, lock)
      return { is: 'held', ...promise(lock) }
    }
    const lock = held.get(order.of)
    if (order.op === 'extend') {
      if (lock === undefined || isNo(await locks.extend(lock))) return { is: 'lost' }
      return { is: 'extended', ...promise(lock) }
    }
    held.delete(order.of)
    return { is: isNo(await locks.release(lock)) ? 'lost' : 'released' }
  }

  function refusal(error, order) {
    if (error instanceof Outage) return { is: order.op === 'acquire' ? 'outage' : 'unknown' }
    return { is: 'error', definite: error.definite === true, text: String(error) }
  }

  function lost(lock) {
    for (const [of, one] of held) if (one === lock) say({ event: 'lost', of })
  }

  const lines = createInterface({ input: process.stdin })
  lines.on('close', () => process.exit(0))
  lines.on('line', async (line) => {
    const order = JSON.parse(line)
    if (order.op === 'start') {
      locks = new Locks(order, lost)
      await locks.ready?.()
      say({ op: 'started', name, version, language: 'javascript', can, ...(nodes && !order.cluster.length && { nodes }) })
    } else if (order.op === 'clock') {
      say({ id: order.id, t: now() })
    } else if (order.op === 'stop') {
      process.exit(0)
    } else {
      say({ id: order.id, ...(await obey(order).catch((error) => refusal(error, order))) })
    }
  })
}

module.exports = { serve, Outage }
