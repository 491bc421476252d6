package import ObjectStore
package import Uploading

/// The object store that a collector's archive goes to.
package struct StoreSettings: Sendable {
    package var bucket: any ObjectBucket
    package var upload: UploadSettings

    package init(bucket: any ObjectBucket, upload: UploadSettings = UploadSettings()) {
        self.bucket = bucket
        self.upload = upload
    }
}
