package import ObjectStore
import Terminal

extension StoreOptions {
    /// The bucket that the options name; nil: they name none. The one place where a client of a store is made for who writes to it.
    package func bucket() throws -> (any ObjectBucket)? {
        guard let store else {
            guard storeEndpoint == nil, storeRegion == nil else {
                throw UsageError(
                    "--store-endpoint and --store-region need an object store: add --store s3://BUCKET/PREFIX"
                )
            }
            return nil
        }
        return try S3Bucket(address(store))
    }
}
