import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { documentFields, jsonFields, openedBy } from '../support/document-fields.ts'
import { chance } from './feed-checker-writer.ts'
import { freshFolder, startTidemark, type TestServer, tidemark } from './harness.ts'

type Row = Record<string, unknown>

/** A field without permission is null in a copy, and absent in an export. */
const unread = Object.fromEntries(
  documentFields.flatMap(({ name }) => (openedBy[name] === undefined ? [] : [[name, null]])),
)

/**
 * Runs `tidemark mirror` beside servers that stop and start, kills it again and again, and checks its copy at the end.
 */
export class KeptMirror {
  readonly #copy = join(freshFolder(), 'copy.sqlite')
  readonly #key: string
  readonly #port: number
  #running!: Awaited<ReturnType<typeof startTidemark>>
  /** The revision of the copy at the start of the current mirror process. */
  #began = 0
  #failed: string | null = null

  private constructor(key: string, port: number) {
    this.#key = key
    this.#port = port
  }

  /** The mirror knows one address. Each connection goes to another of the servers. */
  static async start(any: () => TestServer, key: string): Promise<KeptMirror> {
    const door = createServer((incoming) => {
      let port: number
      try {
        port = Number(new URL(any().address).port)
      } catch {
        incoming.destroy()
        return
      }
      const outgoing = connect(port, '127.0.0.1')
      for (const [socket, other] of [
        [incoming, outgoing],
        [outgoing, incoming],
      ] as const) {
        socket.unref()
        socket.pipe(other)
        socket.on('error', () => {}).on('close', () => other.destroy())
      }
    })
    door.listen(0, '127.0.0.1')
    await once(door, 'listening')
    door.unref()
    const mirror = new KeptMirror(key, (door.address() as AddressInfo).port)
    await mirror.#start()
    return mirror
  }

  /**
   * Kills by the number of changes, but not before a step is saved, because a mirror without progress proves nothing.
   */
  async killAgain(
    { changesAlive: [least, most], seed }: { readonly changesAlive: readonly [number, number]; readonly seed: number },
    changed: () => number,
    done: () => boolean,
  ): Promise<number> {
    const random = chance(seed + 3000)
    for (let kills = 0; ; kills++) {
      const next = changed() + least + random(most - least + 1)
      const isOver = (): boolean => done() && kills > 0
      const isDue = (): boolean => (changed() >= next || done()) && this.#revision() > this.#began
      while (!isOver() && !isDue()) await this.#rest()
      if (isOver()) return kills
      this.#running.kill9()
      await this.#running.ended
      await this.#start()
    }
  }

  /** Called after the last write. The mirror compares its copy itself, and the test compares both sides too. */
  async verify(server: TestServer): Promise<{ mirrorSays: string; copyFaults: readonly string[] }> {
    if (this.#failed !== null) throw new Error(this.#failed)
    this.#running.signal('SIGTERM')
    const ended = await this.#running.ended
    const copyFaults = ended.code === 0 ? [] : [`asked to end, the mirror ended with ${ended.code}: ${ended.stderr}`]
    const { code, stdout, stderr } = await tidemark(this.#command('--verify'), { env: this.#env })
    if (code !== 0) copyFaults.push(stdout + stderr)
    const { text } = await server.consumer(this.#key, 'GET', '/v1/export')
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    if (lines.at(-1).type !== 'end') throw new Error('the export is not complete')
    const expected = new Map<string, string>()
    for (const { document, content } of lines.filter(({ type }) => type === 'document')) {
      const { version_id = null, title = null, body = null } = content ?? {}
      expected.set(document.id, sortedText({ ...unread, ...document, version_id, version_title: title, body }))
    }
    for (const row of this.#rows()) {
      const parsed = jsonFields.map(({ name }) => [name, JSON.parse(String(row[name]))])
      const now = expected.get(String(row.id))
      if (now !== sortedText({ ...row, ...Object.fromEntries(parsed) }))
        copyFaults.push(`${row.id} is not as it is: ${now}`)
      expected.delete(String(row.id))
    }
    for (const id of expected.keys()) copyFaults.push(`${id} is not in the copy`)
    return { mirrorSays: stdout.trim(), copyFaults }
  }

  get #env(): Record<string, string> {
    return { TIDEMARK_KEY: this.#key }
  }

  #command(...flags: string[]): string[] {
    return ['mirror', '--url', `http://127.0.0.1:${this.#port}`, '--to', this.#copy, ...flags]
  }

  async #start(): Promise<void> {
    this.#began = this.#revision()
    const running = await startTidemark(this.#command(), { env: this.#env })
    this.#running = running
    void running.ended.then(({ code, stderr }) => {
      // A kill ends it by a signal. It must not end by itself.
      if (code !== null && code !== 0) this.#failed = `the mirror ended with ${code}: ${stderr}`
    })
  }

  async #rest(): Promise<void> {
    if (this.#failed !== null) throw new Error(this.#failed)
    await delay(20)
  }

  /** The revision of the last saved step; 0 before the first. */
  #revision(): number {
    return this.#read((db) => Number(db.prepare('select revision from place').get()?.revision ?? 0)) ?? 0
  }

  #rows(): Row[] {
    return this.#read((db) => db.prepare('select * from document').all()) ?? []
  }

  /** Null while the copy does not exist or is incomplete. */
  #read<T>(read: (db: DatabaseSync) => T): T | null {
    let db: DatabaseSync | undefined
    try {
      db = new DatabaseSync(this.#copy, { readOnly: true, timeout: 5000 })
      return read(db)
    } catch (error) {
      if (!/no such table|unable to open/.test((error as Error).message)) throw error
      return null
    } finally {
      db?.close()
    }
  }
}

const sortedText = (fields: Row): string =>
  JSON.stringify(fields, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
