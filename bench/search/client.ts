import { connect, type Socket } from 'node:net'

export interface Sent {
  readonly status: number
  readonly text: string
}

export function parsed({ status, text }: Sent): ReturnType<typeof JSON.parse> {
  if (status >= 300) throw new Error(`answered ${status}: ${text}`)
  return JSON.parse(text)
}

/**
 * A client that costs little beside what it measures: one bare connection for each that calls at the same time, kept open.
 * One on node:http adds some 0.2 ms to every answer.
 */
export class Client {
  readonly #idle: Connection[] = []
  readonly #address: URL
  readonly #credential: string

  constructor(address: string, credential: string) {
    this.#address = new URL(address)
    this.#credential = credential
  }

  /** The parsed answer; anything but 2xx is thrown. */
  async call(method: string, path: string, body?: unknown): Promise<ReturnType<typeof JSON.parse>> {
    return parsed(await this.send(method, path, body === undefined ? undefined : JSON.stringify(body)))
  }

  async send(method: string, path: string, body = ''): Promise<Sent> {
    const { hostname, port, host } = this.#address
    let connection = this.#idle.pop()
    // One that was idle for long was closed by the server.
    while (connection?.isClosed) connection = this.#idle.pop()
    connection ??= new Connection(connect(Number(port), hostname))
    const type = body === '' ? '' : 'content-type: application/json\r\n'
    const length = `content-length: ${Buffer.byteLength(body)}\r\n`
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${this.#credential}\r\n`
    const sent = await connection.exchange(`${head}${type}${length}\r\n${body}`)
    this.#idle.push(connection)
    return sent
  }

  close(): void {
    for (const connection of this.#idle) connection.close()
  }
}

/** One request at a time; answers have a content-length, as all of this server's do. */
class Connection {
  isClosed = false
  readonly #socket: Socket
  #parts: Buffer[] = []
  #missing = 0
  #status = 0
  #settle: { readonly resolve: (sent: Sent) => void; readonly reject: (error: Error) => void } | null = null

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true)
    socket.on('data', (part: Buffer) => this.#take(part))
    socket.on('error', (error) => this.#settle?.reject(error))
    socket.on('close', () => {
      this.isClosed = true
      this.#settle?.reject(new Error('the server closed the connection'))
    })
  }

  exchange(request: string): Promise<Sent> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(part: Buffer): void {
    if (this.#status !== 0) this.#add(part)
    else {
      const head = Buffer.concat([...this.#parts, part])
      const end = head.indexOf('\r\n\r\n')
      this.#parts = end < 0 ? [head] : []
      if (end < 0) return
      const text = head.toString('latin1', 0, end)
      this.#status = Number(text.slice(9, 12))
      this.#missing = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      this.#add(head.subarray(end + 4))
    }
  }

  #add(part: Buffer): void {
    this.#parts.push(part)
    this.#missing -= part.length
    if (this.#missing > 0) return
    const sent = { status: this.#status, text: Buffer.concat(this.#parts).toString() }
    this.#parts = []
    this.#status = 0
    this.#settle?.resolve(sent)
    this.#settle = null
  }
}

export interface Times {
  /** Milliseconds, ascending. */
  readonly sorted: readonly number[]
  readonly perSecond: number
}

/** Asks once and tells how many milliseconds it took to the last byte of the answer. */
export type TimedAsk = () => Promise<number>

/** The question is made before the clock runs, and the answer looked at afterwards. */
export function timed<Question, Answer>(
  draw: () => Question,
  ask: (question: Question) => Promise<Answer>,
  check: (answer: Answer) => void,
): TimedAsk {
  return async () => {
    const question = draw()
    const at = performance.now()
    const answer = await ask(question)
    const ms = performance.now() - at
    check(answer)
    return ms
  }
}

/**
 * Asks again and again from as many callers as wanted, for that long. Half as long again warms up before: code that has
 * run a few hundred times is several times slower than the same code in a service that has been up for a minute.
 */
export async function measure(callers: number, forMs: number, ask: TimedAsk): Promise<Times> {
  for (const warmUntil = performance.now() + forMs / 2; performance.now() < warmUntil; ) await ask()
  const times: number[] = []
  const started = performance.now()
  const caller = async (): Promise<void> => {
    while (performance.now() - started < forMs) times.push(await ask())
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const perSecond = times.length / ((performance.now() - started) / 1000)
  return { sorted: times.sort((a, b) => a - b), perSecond }
}

/** One caller that asks of each in turn, so that a machine that is slower for a while is so for all of them. */
export async function measureInTurn(asks: readonly TimedAsk[], forMs: number): Promise<Times[]> {
  const times = asks.map((): number[] => [])
  const started = performance.now()
  while (performance.now() - started < forMs * 1.5) {
    const isWarm = performance.now() - started > forMs / 2
    for (const [i, ask] of asks.entries()) {
      const ms = await ask()
      if (isWarm) times[i]!.push(ms)
    }
  }
  return times.map((some) => {
    const perSecond = (some.length * 1000) / some.reduce((sum, ms) => sum + ms, 0)
    return { sorted: some.sort((a, b) => a - b), perSecond }
  })
}

export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

export const cells = ({ sorted, perSecond }: Times): string =>
  // The least is what a machine that others use too says of the work itself.
  [0, 0.5, 0.95, 0.99]
    .map((share) => quantile(sorted, share).toFixed(2).padStart(8))
    .concat(perSecond.toFixed(0).padStart(7))
    .join('')
