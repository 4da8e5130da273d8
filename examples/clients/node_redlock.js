// node-redlock: Redlock over all nodes; it says until when a lock is valid.
const { serve, Outage } = require('./lockstorm_client.js')

const Redis = require('ioredis')
const { default: Redlock, ExecutionError, ResourceLockedError } = require('redlock')
const { version } = require(require.resolve('redlock').replace(/dist.*/, 'package.json'))

// Its own delay between tries, in milliseconds.
const DELAY = 200

class Locks {
  constructor(start) {
    this.ttl = start.ttl_ms
    const nodes = start.nodes.map((url) => new Redis(url))
    // Without a listener ioredis prints each failure.
    nodes.forEach((node) => node.on('error', () => {}))
    this.redlock = new Redlock(nodes)
  }

  async acquire(key, wait) {
    try {
      return { lock: await this.redlock.acquire([key], this.ttl, { retryCount: Math.floor(wait / DELAY) }) }
    } catch (error) {
      await explain(error)
      return null
    }
  }

  async extend(held) {
    try {
      held.lock = await held.lock.extend(this.ttl)
    } catch (error) {
      await explain(error)
      return false
    }
  }

  async release(held) {
    try {
      await held.lock.release()
    } catch (error) {
      await explain(error)
      return false
    }
  }

  until = (held) => held.lock.expiration
}

// It has one error for all. The votes of the last attempt say whether others have the lock, or nodes are missing; they come when the
// last node has answered, which may be never.
async function explain(error) {
  if (!(error instanceof ExecutionError)) throw error
  const late = new Promise((resolve) => setTimeout(resolve, 100))
  const votes = await Promise.race([error.attempts.at(-1), late])
  const missing = votes ? [...votes.votesAgainst.values()].filter((why) => !(why instanceof ResourceLockedError)) : []
  if (votes && missing.length >= votes.quorumSize) throw new Outage(error.message)
}

serve(Locks, 'node-redlock', version, ['extend', 'validity'])
