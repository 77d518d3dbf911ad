// A client written from docs/PROTOCOL.md alone: spawn a program, follow its output with credit to its end, tell how it ended.
// node client.mjs COPY CREDIT KILL_AT COMMAND…   (KILL_AT: so many bytes, then the session is killed; 0: never)
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'

const [copy, credit, killAt, ...command] = process.argv.slice(2)
const PAUSES = { first: 10, last: 500, all: 30000 }

function stateDirectory() {
  if (process.env.ORCHCTL_STATE_DIR) return process.env.ORCHCTL_STATE_DIR
  const read = (path) => { try { return fs.readFileSync(path, 'ascii').trim() } catch { return '' } }
  const id = read('/etc/machine-id') || read('/var/lib/dbus/machine-id')
  return `${os.homedir()}/.local/state/orchctl/${id.slice(0, 12) || os.hostname()}`
}

class Connection {
  constructor(socket) {
    this.socket = socket
    this.rest = Buffer.alloc(0)
    this.frames = []
    this.number = 0
    this.lost = false
    this.wake = () => {}
    socket.on('data', (data) => { this.take(data); this.wake() })
    socket.on('error', () => {})
    socket.on('close', () => { this.lost = true; this.wake() })
  }

  static open() {
    return new Promise((resolve) => {
      const socket = net.connect(`${stateDirectory()}/supervisor.sock`, () => resolve(new Connection(socket)))
      socket.on('error', () => resolve(null))
    })
  }

  take(data) {
    this.rest = Buffer.concat([this.rest, data])
    while (this.rest.length >= 5 && this.rest.length >= 5 + this.rest.readUInt32BE(0)) {
      const payload = this.rest.subarray(5, 5 + this.rest.readUInt32BE(0))
      const offset = this.rest[4] === 2 ? Number(payload.readBigUInt64BE(8)) : 0
      const data = this.rest[4] === 2 && { id: payload.readUInt32BE(0), kind: 'data', offset, bytes: payload.subarray(16) }
      this.frames.push(data || JSON.parse(payload.toString('utf8')))
      this.rest = this.rest.subarray(5 + payload.length)
    }
  }

  say(words) {
    const payload = Buffer.from(JSON.stringify(words))
    const head = Buffer.alloc(5)
    head.writeUInt32BE(payload.length)
    head[4] = 1
    this.socket.write(Buffer.concat([head, payload]))
  }

  ask(kind, fields) {
    this.say({ id: ++this.number, kind, ...fields })
    return this.number
  }

  async next(id) { // the next frame for a request, or null when the connection is lost
    for (;;) {
      const frame = this.frames.shift()
      if (frame && frame.kind === 'failed' && (frame.id === id || frame.id === 0)) throw frame
      if (frame && (id === undefined || frame.id === id)) return frame
      if (!frame && this.lost) return null
      if (!frame) await new Promise((resolve) => { this.wake = resolve })
    }
  }
}

async function connected(tally) { // with a supervisor that has said hello
  for (let pause = PAUSES.first, left = PAUSES.all; left > 0; left -= pause, pause = Math.min(PAUSES.last, pause * 2)) {
    const connection = await Connection.open()
    if (connection) {
      connection.say({ protocol: 1 })
      const hello = await connection.next()
      if (hello && hello.protocol !== 1) throw new Error(`protocol ${hello.protocol}`)
      if (hello && !hello.features.includes('credit')) throw new Error('no credit')
      if (hello) return tally.connections++, connection
    }
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  throw new Error('no supervisor')
}

async function answer(tally, kind, fields) { // asked again until somebody answers
  for (;;) {
    const connection = await connected(tally)
    const said = await connection.next(connection.ask(kind, fields))
    connection.socket.destroy()
    if (said) return said
  }
}

async function follow(tally, session, out) {
  for (let at = 0; ;) {
    const connection = await connected(tally)
    const fields = { session, offset: at, follow: true, credit_bytes: Number(credit) }
    const stream = connection.ask('output.read', fields)
    for (let frame; (frame = await connection.next(stream));) {
      if (frame.kind === 'stream.ends') return connection.socket.destroy(), frame.session
      if (frame.kind === 'stream.gap') at = frame.end
      if (frame.kind !== 'data') continue
      if (frame.offset !== at) throw new Error(`byte ${frame.offset} came where ${at} was due`)
      if (frame.bytes.length > Number(credit)) throw new Error('more than the credit')
      fs.writeSync(out, frame.bytes)
      at += frame.bytes.length
      connection.ask('output.ack', { stream, count_bytes: frame.bytes.length })
      if (Number(killAt) && at >= Number(killAt) && !tally.killed) {
        tally.killed = (await answer(tally, 'session.kill', { sessions: [session], grace_s: 1 })).report.ended
      }
    }
  }
}

try {
  const tally = { connections: 0, killed: null }
  const spawn = { session_id: randomUUID(), command, cwd: process.cwd(), env: { ...process.env }, umask: process.umask() }
  const { session } = await answer(tally, 'session.spawn', spawn)
  process.stdout.write(session.id + '\n')
  const ended = await follow(tally, session.id, fs.openSync(copy, 'w', 0o600))
  const { exit_code, signal, end_reason, output } = ended
  process.stdout.write(JSON.stringify({ ...tally, exit_code, signal, end_reason, next_offset: output.next_offset }) + '\n')
} catch (error) {
  const told = JSON.stringify({ failed: error.code ?? String(error), message: error.message })
  process.stdout.write(told + '\n', () => process.exit(1))
}
