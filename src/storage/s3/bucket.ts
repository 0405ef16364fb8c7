import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { withDeadline } from '../../outbound/with-deadline.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { S3Address } from '../../settings/s3-address.ts'
import { withStallTimeout } from './stall-timeout.ts'

/** The bucket refused a call, or could not be reached. `message` contains no secret and no signed address. */
export class BucketError extends UnavailableError {
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
  /** The server's error name, such as `NoSuchBucket` or `AccessDenied`. */
  readonly reason: string

  constructor(message: string, status: number, reason: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

export interface FileToKeep {
  /** The path on this machine. */
  readonly path: string
  readonly bytes: number
  /** SHA-256 in hex. A file with another digest is not stored. */
  readonly sha256: string
  readonly mediaType: string
}

/** An object in the bucket. */
export interface KeptObject {
  readonly bytes: number
  /** The digest that was sent with the upload; null if none was, for example by other tools. */
  readonly sha256: string | null
}

export interface ListedObject {
  readonly key: string
  readonly changedAt: number
}

interface Upload {
  readonly key: string
  readonly uploadId: string
  readonly touchedAt: number
}

/** The time limit of one call, including its retries. */
const callMs = 15_000
/** The time limit of one call that carries a part of a file. */
const partMs = 120_000
/** The time limit for the next bytes of a file, while a reader waits for them. */
const stallMs = 30_000
const attempts = 3
/**
 * The size of one part of an upload, which is held in memory. Larger for a file that would otherwise have more than
 * `partsMax` parts.
 */
const partBytes = 8 * 2 ** 20
const partsMax = 9000

export interface BucketOptions {
  readonly partBytes?: number
  /** By default, the library takes them from the environment, a profile or the role of the machine, in this order. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string }
}

/**
 * A prefix in a bucket of an S3 server; keys are relative to it. Every call has a time limit, and every failure of the
 * server is a `BucketError`. The library takes much memory, so it is loaded only for the first call.
 */
export class Bucket {
  readonly #address: S3Address
  readonly #options: BucketOptions
  #client: Promise<S3Client> | null = null
  #signer: S3Client | null = null
  /** The name of the bucket in messages. */
  readonly name: string

  constructor(address: S3Address, options: BucketOptions = {}) {
    this.#address = address
    this.#options = options
    const { bucket, prefix, endpoint } = address
    const at = endpoint === null ? '' : ` at ${new URL(endpoint).host}`
    this.name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}${at}`
  }

  /** Checks that the bucket can be read and listed. Throws if not. */
  async check(): Promise<void> {
    const { ListObjectsV2Command } = await library()
    await this.#call(callMs, (client, abortSignal) =>
      client.send(new ListObjectsV2Command({ ...this.#bucket, Prefix: this.#key(''), MaxKeys: 1 }), { abortSignal }),
    )
  }

  /** Writes a small text. */
  async putText(key: string, text: string): Promise<void> {
    const { PutObjectCommand } = await library()
    await this.#call(callMs, (client, abortSignal) =>
      client.send(new PutObjectCommand({ ...this.#at(key), Body: Buffer.from(text) }), { abortSignal }),
    )
  }

  /** Writes a file under a key: complete and with the expected digest, or not at all. */
  async put(key: string, file: FileToKeep, sent: (bytes: number) => void = () => {}): Promise<void> {
    const size = Math.max(this.#options.partBytes ?? partBytes, Math.ceil(file.bytes / partsMax))
    const about = { ...this.#at(key), ContentType: file.mediaType, Metadata: { sha256: file.sha256 } }
    const handle = await open(file.path)
    try {
      const parts = portionsOf(handle, size, file)
      if (file.bytes > size) return await this.#putInParts(about, parts, sent)
      const { PutObjectCommand } = await library()
      for await (const { content } of parts) {
        await this.#call(partMs, (client, abortSignal) =>
          client.send(new PutObjectCommand({ ...about, Body: content }), { abortSignal }),
        )
        sent(content.length)
      }
    } finally {
      await handle.close()
    }
  }

  async #putInParts(
    about: { readonly Bucket: string; readonly Key: string },
    parts: AsyncIterable<{ readonly number: number; readonly content: Buffer }>,
    sent: (bytes: number) => void,
  ): Promise<void> {
    const { CreateMultipartUploadCommand, UploadPartCommand, CompleteMultipartUploadCommand } = await library()
    const { Bucket, Key } = about
    const { UploadId } = await this.#call(callMs, (client, abortSignal) =>
      client.send(new CreateMultipartUploadCommand(about), { abortSignal }),
    )
    const whole = { Bucket, Key, UploadId: UploadId! }
    try {
      const Parts: { PartNumber: number; ETag: string | undefined }[] = []
      for await (const { number: PartNumber, content } of parts) {
        const { ETag } = await this.#call(partMs, (client, abortSignal) =>
          client.send(new UploadPartCommand({ ...whole, PartNumber, Body: content }), { abortSignal }),
        )
        Parts.push({ PartNumber, ETag })
        sent(content.length)
      }
      await this.#call(partMs, (client, abortSignal) =>
        client.send(new CompleteMultipartUploadCommand({ ...whole, MultipartUpload: { Parts } }), { abortSignal }),
      )
    } catch (error) {
      // If the upload cannot be aborted now, `abortUploads` finds it later.
      await this.#abort(Key, UploadId!).catch(() => {})
      throw error
    }
  }

  /** Null if there is no such object. */
  async head(key: string): Promise<KeptObject | null> {
    const { HeadObjectCommand } = await library()
    const found = await this.#ifThere((client, abortSignal) =>
      client.send(new HeadObjectCommand(this.#at(key)), { abortSignal }),
    )
    return found === null ? null : { bytes: found.ContentLength ?? 0, sha256: found.Metadata?.sha256 ?? null }
  }

  /**
   * The bytes from `start` up to and including `end`, which must be within the object; all bytes without a range. Null
   * if there is no such object.
   */
  async get(
    key: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<(KeptObject & { readonly content: Readable }) | null> {
    const { GetObjectCommand } = await library()
    const Range = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` }
    const found = await this.#ifThere((client, abortSignal) =>
      client.send(new GetObjectCommand({ ...this.#at(key), ...Range }), { abortSignal }),
    )
    if (found === null) return null
    const total = /\/(\d+)$/.exec(found.ContentRange ?? '')?.[1]
    return {
      bytes: total === undefined ? (found.ContentLength ?? 0) : Number(total),
      sha256: found.Metadata?.sha256 ?? null,
      content: withStallTimeout(found.Body as Readable, stallMs, (cause) => this.#interrupted(cause)),
    }
  }

  async remove(key: string): Promise<void> {
    const { DeleteObjectCommand } = await library()
    await this.#ifThere((client, abortSignal) => client.send(new DeleteObjectCommand(this.#at(key)), { abortSignal }))
  }

  /** Every object whose key starts with this prefix. */
  async *list(prefix: string): AsyncGenerator<ListedObject> {
    const { ListObjectsV2Command } = await library()
    let ContinuationToken: string | undefined
    do {
      const request = { ...this.#bucket, Prefix: this.#key(prefix), ...withoutUndefined({ ContinuationToken }) }
      const page = await this.#call(callMs, (client, abortSignal) =>
        client.send(new ListObjectsV2Command(request), { abortSignal }),
      )
      for (const { Key, LastModified } of page.Contents ?? []) {
        yield { key: this.#ownKey(Key!), changedAt: LastModified?.getTime() ?? Date.now() }
      }
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken !== undefined)
  }

  /** The names directly below the prefix, like folders. */
  async folders(): Promise<readonly string[]> {
    const { ListObjectsV2Command } = await library()
    const names: string[] = []
    let ContinuationToken: string | undefined
    do {
      const request = {
        ...this.#bucket,
        Prefix: this.#key(''),
        Delimiter: '/',
        ...withoutUndefined({ ContinuationToken }),
      }
      const page = await this.#call(callMs, (client, abortSignal) =>
        client.send(new ListObjectsV2Command(request), { abortSignal }),
      )
      for (const { Prefix } of page.CommonPrefixes ?? []) names.push(this.#ownKey(Prefix!).slice(0, -1))
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken !== undefined)
    return names
  }

  /** Multipart uploads that have started and are not complete. They are still running, or their process has ended. */
  async unfinished(prefix: string): Promise<readonly Upload[]> {
    const { ListMultipartUploadsCommand } = await library()
    const uploads: Upload[] = []
    let KeyMarker: string | undefined
    let UploadIdMarker: string | undefined
    do {
      const request = {
        ...this.#bucket,
        Prefix: this.#key(prefix),
        ...withoutUndefined({ KeyMarker, UploadIdMarker }),
      }
      const page = await this.#call(callMs, (client, abortSignal) =>
        client.send(new ListMultipartUploadsCommand(request), { abortSignal }),
      )
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        const lastPart = await this.#lastPart(Key!, UploadId!)
        const touchedAt = Math.max(Initiated?.getTime() ?? 0, lastPart)
        uploads.push({ key: this.#ownKey(Key!), uploadId: UploadId!, touchedAt })
      }
      KeyMarker = page.IsTruncated === true ? page.NextKeyMarker : undefined
      UploadIdMarker = page.NextUploadIdMarker
    } while (KeyMarker !== undefined)
    return uploads
  }

  /** When the last part arrived, in milliseconds; 0 if none has. */
  async #lastPart(Key: string, UploadId: string): Promise<number> {
    const { ListPartsCommand } = await library()
    let last = 0
    let PartNumberMarker: string | undefined
    do {
      const request = { Bucket: this.#address.bucket, Key, UploadId, ...withoutUndefined({ PartNumberMarker }) }
      const page = await this.#ifThere((client, abortSignal) =>
        client.send(new ListPartsCommand(request), { abortSignal }),
      )
      for (const { LastModified } of page?.Parts ?? []) last = Math.max(last, LastModified?.getTime() ?? 0)
      PartNumberMarker = page?.IsTruncated === true ? page.NextPartNumberMarker : undefined
    } while (PartNumberMarker !== undefined)
    return last
  }

  /** Aborts incomplete uploads, which frees the space of their parts. */
  async abortUploads(prefix: string, untouchedSince: number = Number.POSITIVE_INFINITY): Promise<void> {
    for (const { key, uploadId, touchedAt } of await this.unfinished(prefix)) {
      if (touchedAt < untouchedSince) await this.#abort(this.#key(key), uploadId)
    }
  }

  async #abort(Key: string, UploadId: string): Promise<void> {
    const { AbortMultipartUploadCommand } = await library()
    const upload = { Bucket: this.#address.bucket, Key, UploadId }
    await this.#ifThere((client, abortSignal) => client.send(new AbortMultipartUploadCommand(upload), { abortSignal }))
  }

  /**
   * An address at which anybody can read the object for some seconds, without credentials. `endpoint` is the address of
   * the server as readers know it.
   */
  async presign(key: string, { endpoint, seconds, fileName, mediaType }: PresignOptions): Promise<string> {
    const [{ GetObjectCommand, S3Client }, { getSignedUrl }] = await Promise.all([
      library(),
      import('@aws-sdk/s3-request-presigner'),
    ])
    const command = new GetObjectCommand({
      ...this.#at(key),
      ResponseContentType: mediaType,
      ResponseContentDisposition: `attachment; filename="${fileName}"`,
    })
    return this.#call(callMs, (client) => {
      const { credentials, region } = client.config
      this.#signer ??= new S3Client({
        ...clientOptions(this.#address),
        ...(endpoint === '' ? {} : { endpoint }),
        ...{ credentials, region },
        // A signed address for reading has no request body, so it needs no checksum.
        requestChecksumCalculation: 'WHEN_REQUIRED',
      })
      return getSignedUrl(this.#signer, command, { expiresIn: seconds })
    })
  }

  get #bucket(): { readonly Bucket: string } {
    return { Bucket: this.#address.bucket }
  }

  #at(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#address.bucket, Key: this.#key(key) }
  }

  #key(key: string): string {
    const { prefix } = this.#address
    return prefix === '' ? key : `${prefix}/${key}`
  }

  #ownKey(key: string): string {
    return key.slice(this.#key('').length)
  }

  /** Null if the object of the call does not exist, but the bucket does. */
  async #ifThere<T>(send: (client: S3Client, signal: AbortSignal) => Promise<T>): Promise<T | null> {
    try {
      return await this.#call(callMs, send)
    } catch (error) {
      if (!(error instanceof BucketError) || error.status !== 404 || error.reason === 'NoSuchBucket') throw error
      // The response to HEAD has no body, so it does not say whether the object or the bucket is missing.
      if (error.reason === 'NotFound') await this.check()
      return null
    }
  }

  async #call<T>(limitMs: number, send: (client: S3Client, signal: AbortSignal) => Promise<T>): Promise<T> {
    const client = await this.#open()
    let isLate = false
    try {
      return await withDeadline(limitMs, undefined, (signal) => {
        signal.addEventListener('abort', () => {
          isLate = true
        })
        return send(client, signal)
      })
    } catch (error) {
      throw isLate
        ? new BucketError(`${this.name} did not answer within ${limitMs / 1000} s`, 0, 'late')
        : this.#toError(error)
    }
  }

  #open(): Promise<S3Client> {
    const { credentials: own } = this.#options
    const credentials = own === undefined ? {} : { credentials: own }
    this.#client ??= library().then(({ S3Client }) => new S3Client({ ...clientOptions(this.#address), ...credentials }))
    return this.#client
  }

  #toError(error: unknown): Error {
    if (!(error instanceof Error)) return new Error(String(error))
    const { name, $metadata, code } = error as S3ServiceException & NodeJS.ErrnoException
    const status = $metadata?.httpStatusCode ?? 0
    if (status > 0) return new BucketError(`${this.name} answered ${status} ${name}`, status, name)
    // There was no answer, because of the network, the credentials or an unknown region. These messages contain no
    // secrets.
    const isOurs = ['TypeError', 'RangeError', 'ReferenceError', 'AssertionError'].includes(name)
    return isOurs
      ? error
      : new BucketError(`${this.name} cannot be used: ${code ?? name}: ${error.message}`, 0, code ?? name)
  }

  #interrupted(cause: unknown): Error {
    const why = cause instanceof Error ? cause.message : String(cause)
    return new BucketError(`${this.name} ended the connection in the middle of a file: ${why}`, 0, 'broken off')
  }
}

export interface PresignOptions {
  /** Empty for the bucket's own endpoint. */
  readonly endpoint: string
  readonly seconds: number
  readonly fileName: string
  readonly mediaType: string
}

const library = () => import('@aws-sdk/client-s3')

const clientOptions = ({ endpoint, region, pathStyle }: S3Address) => ({
  ...(endpoint === null ? {} : { endpoint }),
  ...(region === null ? (endpoint === null ? {} : { region: 'us-east-1' }) : { region }),
  forcePathStyle: pathStyle,
  maxAttempts: attempts,
  // Readers that check a file compare it with its known digest.
  responseChecksumValidation: 'WHEN_REQUIRED' as const,
  requestHandler: { connectionTimeout: 3000 },
})

function withoutUndefined<T extends Record<string, string | undefined>>(fields: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: string
  }
}

/** Reads a file in portions. Yields the last one only if the whole file has the expected size and digest. */
async function* portionsOf(
  handle: Awaited<ReturnType<typeof open>>,
  size: number,
  { bytes, sha256 }: FileToKeep,
): AsyncGenerator<{ readonly number: number; readonly content: Buffer }> {
  const digest = createHash('sha256')
  let read = 0
  let number = 1
  do {
    const content = Buffer.allocUnsafe(Math.min(size, bytes - read))
    let filled = 0
    while (filled < content.length) {
      const { bytesRead } = await handle.read(content, filled, content.length - filled)
      if (bytesRead === 0) throw changed()
      filled += bytesRead
    }
    read += filled
    digest.update(content)
    if (read === bytes && digest.digest('hex') !== sha256) throw changed()
    yield { number: number++, content }
  } while (read < bytes)
}

const changed = () => new Error('the file has changed since it was written')
