/** Types of the calls that are used here. The library's own types describe some hundred calls with all their fields. */
declare module '@aws-sdk/client-s3' {
  interface Credentials {
    readonly accessKeyId: string
    readonly secretAccessKey: string
  }

  interface S3ClientOptions {
    readonly endpoint?: string
    readonly region?: string | (() => Promise<string>)
    readonly forcePathStyle: boolean
    readonly credentials?: Credentials | (() => Promise<Credentials>)
    readonly maxAttempts?: number
    readonly requestChecksumCalculation?: 'WHEN_SUPPORTED' | 'WHEN_REQUIRED'
    readonly responseChecksumValidation?: 'WHEN_SUPPORTED' | 'WHEN_REQUIRED'
    readonly requestHandler?: { readonly connectionTimeout: number }
  }

  class S3Client {
    constructor(options: S3ClientOptions)
    /** As the library found them. */
    readonly config: {
      readonly credentials: () => Promise<Credentials>
      readonly region: () => Promise<string>
    }
    send<Answer>(command: Command<object, Answer>, options?: { readonly abortSignal: AbortSignal }): Promise<Answer>
    destroy(): void
  }

  class S3ServiceException extends Error {
    readonly $metadata?: { readonly httpStatusCode?: number }
  }

  class Command<Input, Answer> {
    constructor(input: Input)
    /** Never set: it only carries the type of the answer. */
    readonly answers?: Answer
  }

  interface InBucket {
    readonly Bucket: string
  }
  interface ObjectAt extends InBucket {
    readonly Key: string
  }
  interface ObjectToPut extends ObjectAt {
    readonly Body: string | Uint8Array
    readonly ContentType?: string
    readonly Metadata?: Readonly<Record<string, string>>
  }
  interface UploadAt extends ObjectAt {
    readonly UploadId: string | undefined
  }
  interface ObjectFound {
    readonly ContentLength?: number
    readonly Metadata?: Readonly<Record<string, string>>
  }

  class CreateBucketCommand extends Command<InBucket, object> {}
  class PutObjectCommand extends Command<ObjectToPut, object> {}
  class HeadObjectCommand extends Command<ObjectAt, ObjectFound> {}
  class GetObjectCommand extends Command<
    ObjectAt & {
      readonly Range?: string
      readonly ResponseContentType?: string
      readonly ResponseContentDisposition?: string
    },
    ObjectFound & { readonly ContentRange?: string; readonly Body?: object }
  > {}
  class DeleteObjectCommand extends Command<ObjectAt, object> {}
  class ListObjectsV2Command extends Command<
    InBucket & {
      readonly Prefix: string
      readonly Delimiter?: string
      readonly MaxKeys?: number
      readonly ContinuationToken?: string
    },
    {
      readonly Contents?: readonly { readonly Key?: string; readonly LastModified?: Date }[]
      readonly CommonPrefixes?: readonly { readonly Prefix?: string }[]
      readonly NextContinuationToken?: string
    }
  > {}
  class CreateMultipartUploadCommand extends Command<Omit<ObjectToPut, 'Body'>, { readonly UploadId?: string }> {}
  class UploadPartCommand extends Command<
    UploadAt & { readonly PartNumber: number; readonly Body: string | Uint8Array },
    { readonly ETag?: string }
  > {}
  class CompleteMultipartUploadCommand extends Command<
    UploadAt & {
      readonly MultipartUpload: {
        readonly Parts: readonly { readonly PartNumber: number; readonly ETag: string | undefined }[]
      }
    },
    object
  > {}
  class AbortMultipartUploadCommand extends Command<UploadAt, object> {}
  class ListMultipartUploadsCommand extends Command<
    InBucket & { readonly Prefix: string; readonly KeyMarker?: string; readonly UploadIdMarker?: string },
    {
      readonly Uploads?: readonly { readonly Key?: string; readonly UploadId?: string; readonly Initiated?: Date }[]
      readonly IsTruncated?: boolean
      readonly NextKeyMarker?: string
      readonly NextUploadIdMarker?: string
    }
  > {}
  class ListPartsCommand extends Command<
    UploadAt & { readonly PartNumberMarker?: string },
    {
      readonly Parts?: readonly { readonly LastModified?: Date }[]
      readonly IsTruncated?: boolean
      readonly NextPartNumberMarker?: string
    }
  > {}
}

declare module '@aws-sdk/s3-request-presigner' {
  import type { Command, S3Client } from '@aws-sdk/client-s3'

  function getSignedUrl(
    client: S3Client,
    command: Command<object, object>,
    options: { readonly expiresIn: number },
  ): Promise<string>
}
