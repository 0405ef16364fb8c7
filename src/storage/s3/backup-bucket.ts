import { createWriteStream } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import {
  BackupError,
  backupTimeOf,
  manifestFile,
  manifestPath,
  readManifest,
  totalBytes,
} from '../../operator/backup-manifest.ts'
import type { BackupPlace } from '../../operator/backup-place.ts'
import { inScratch } from '../../platform/folders.ts'
import type { S3Address } from '../../settings/s3-address.ts'
import { Bucket } from './bucket.ts'

const mediaType = 'application/octet-stream'

/** Enough for the manifest of several hundred thousand files. */
const manifestBytesMax = 64 * 2 ** 20

/**
 * Backups in a bucket: `NAME/manifest.json`, and beside it the files that it names. The manifest is written last and
 * removed first, so a name without a manifest is an incomplete backup. Backups are made and opened in a scratch folder
 * of this machine.
 */
export function bucketOfBackups(address: S3Address, bucket: Bucket = new Bucket(address)): BackupPlace {
  const manifestKey = (name: string): string => `${name}/${manifestFile}`
  const candidates = async () => (await bucket.folders()).filter((name) => backupTimeOf(name) !== null).sort()
  const isWhole = async (name: string): Promise<boolean> => (await bucket.head(manifestKey(name))) !== null
  const removeAll = async (name: string): Promise<void> => {
    for await (const { key } of bucket.list(`${name}/`)) await bucket.remove(key)
  }

  return {
    name: bucket.name,

    async names() {
      const whole: string[] = []
      for (const name of await candidates()) if (await isWhole(name)) whole.push(name)
      return whole
    },

    receive: (make, report) =>
      inScratch(async (scratch) => {
        // Checks the bucket first, because making a backup takes long.
        await bucket.check()
        const made = await make(scratch)
        const { folder, manifest } = made
        const name = folder.slice(scratch.length + 1)
        const total = totalBytes(manifest)
        let done = 0
        const sent = (bytes: number): void => {
          done += bytes
          report({ step: 'sending the backup', done, total })
        }
        for (const { path, bytes, sha256 } of manifest.files) {
          await bucket.put(`${name}/${path}`, { path: join(folder, path), bytes, sha256, mediaType }, sent)
        }
        await bucket.putText(manifestKey(name), await readFile(manifestPath(folder), 'utf8'))
        return { made, where: `${bucket.name}: ${name}` }
      }),

    open: (name, work, report) =>
      inScratch(async (folder) => {
        const fetch = async (path: string, bytesMax: number) => {
          const found = await bucket.get(`${name}/${path}`)
          if (found === null) return null
          if (found.bytes > bytesMax) {
            found.content.destroy()
            throw new BackupError(`the backup is damaged: ${path} is larger than its manifest says; use another one`)
          }
          return found.content
        }
        const text = await fetch(manifestFile, manifestBytesMax)
        if (text === null) throw new BackupError(`there is no backup ${name} in ${bucket.name}`)
        await writeFile(manifestPath(folder), await text.toArray(), { mode: 0o600 })
        const manifest = await readManifest(folder)
        const total = totalBytes(manifest)
        let done = 0
        for (const { path, bytes } of manifest.files) {
          await mkdir(dirname(join(folder, path)), { recursive: true })
          const content = await fetch(path, bytes)
          // A missing file is skipped here. The check of the backup reports it.
          if (content !== null) await pipeline(content, createWriteStream(join(folder, path), { mode: 0o600 }))
          done += bytes
          report({ step: 'fetching the backup', done, total })
        }
        return work(folder)
      }),

    async remove(name) {
      await bucket.remove(manifestKey(name))
      await removeAll(name)
    },

    async removeUnfinished(beforeMs) {
      for (const name of await candidates()) {
        if (backupTimeOf(name)! < beforeMs && !(await isWhole(name))) await removeAll(name)
      }
      await bucket.abortUploads('tidemark-backup-', beforeMs)
    },
  }
}
