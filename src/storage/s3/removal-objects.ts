import { damagedEntry, entryBytesMax, isEntryName, type RemovalRecord } from '../../operator/removal-record.ts'
import type { S3Address } from '../../settings/s3-address.ts'
import { Bucket } from './bucket.ts'

/** The record of removals of one instance as objects below a prefix. A put is atomic. */
export function bucketOfRemovals(address: S3Address, bucket: Bucket = new Bucket(address)): RemovalRecord {
  const keyOf = (name: string): string => {
    if (!isEntryName(name)) throw new Error('not the name of an entry')
    return name
  }

  return {
    place: bucket.name,

    async names() {
      const names: string[] = []
      for await (const { key } of bucket.list('')) if (isEntryName(key)) names.push(key)
      return names
    },

    async read(name) {
      const found = await bucket.get(keyOf(name))
      if (found === null) return null
      if (found.bytes > entryBytesMax) {
        found.content.destroy()
        throw damagedEntry(`the entry ${name} of the record of removals is larger than any valid entry`, name)
      }
      return Buffer.concat(await found.content.toArray()).toString('utf8')
    },

    write: (name, entry) => bucket.putText(keyOf(name), entry),

    // Only a put would show whether the bucket can be written.
    unwritable: async () => null,
  }
}
