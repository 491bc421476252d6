package import Threads

/// The address of an archive in an object store of any kind: `s3://BUCKET/PREFIX`, with endpoint and region.
package struct StoreAddress: Sendable, CustomStringConvertible {
    /// All kinds of stores: each is a folder of this module.
    static let kinds: [any StoreKind.Type] = [S3Address.self]
    /// Form of an address, for messages and help: `s3://BUCKET/PREFIX`.
    package static let form = kinds.map { $0.form }.joined(separator: " or ")
    /// The origin of credentials, for help and errors: continues "credentials come from …".
    package static let credentialsHelp = kinds.map { $0.credentialsHelp }
        .joined(separator: ", or from ")
    /// Maximum validity of a presigned URL that every kind of store accepts.
    package static let maximumValiditySeconds =
        kinds.lazy.map { $0.maximumValiditySeconds }.min() ?? 1

    private static let maximumBytes = 1_024

    private let address: any StoreKind

    /// The error of an address. A kind of store adds its own.
    package struct Flaw: Error, Hashable, CustomStringConvertible {
        /// Continues "the address …".
        package let description: String

        init(_ description: String) { self.description = description }

        /// It has the scheme of no kind of store.
        static let noAddress = Flaw("must have the form \(form)")
        static let tooLong = Flaw("is longer than \(maximumBytes) bytes")
    }

    /// Parses an address.
    /// - Parameters:
    ///   - endpoint: nil: the default of the kind of store.
    ///   - region: nil: the default of the kind of store.
    package init(
        _ text: String, endpoint: StoreEndpoint? = nil, region: String? = nil
    ) throws(Flaw) {
        guard text.utf8.count <= Self.maximumBytes else { throw .tooLong }
        guard let kind = Self.kind(of: text) else { throw .noAddress }
        address = try kind.init(text, endpoint: endpoint, region: region)
    }

    /// Whether a text is a store address rather than a directory.
    package static func isAddress(_ text: String) -> Bool { kind(of: text) != nil }

    private static func kind(of text: String) -> (any StoreKind.Type)? {
        kinds.first { text.hasPrefix($0.scheme) }
    }

    /// Its canonical form, without a trailing `/`.
    package var description: String { address.description }

    /// The origin of its objects' URLs: `https://HOST[:PORT]`.
    package var origin: String { address.origin }

    /// Its bucket, with this process's credentials.
    /// - Parameters:
    ///   - patience: timeout.
    ///   - shutdown: ends waits for it.
    package func open(
        patience: StorePatience, shutdown: Shutdown
    ) throws(ObjectStoreError) -> any ObjectBucket {
        try address.open(patience: patience, shutdown: shutdown)
    }
}
