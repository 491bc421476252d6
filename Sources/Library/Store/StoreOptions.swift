package import ArgumentParser

/// Which object store holds recordings, for every program.
package struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Object store of the archive. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the file \
            that AWS_SHARED_CREDENTIALS_FILE names (~/.aws/credentials).
            """, valueName: "s3://bucket/prefix"))
    package var store: String?

    @Option(
        help: ArgumentHelp(
            "Address of the object store, such as https://store.example:9000. (default: Amazon's)",
            valueName: "url"))
    package var storeEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "Region that requests to the object store are signed for. (default: us-east-1)",
            valueName: "name"))
    package var storeRegion: String?

    package init() {}
}
