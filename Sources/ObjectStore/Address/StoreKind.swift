import Threads

/// An archive's address in one kind of object store: everything that depends on the kind, except for requests
/// (``ObjectBucket``).
protocol StoreKind: Sendable, CustomStringConvertible {
    /// The addresses of this kind begin with it: `s3://`.
    static var scheme: String { get }
    /// Form of an address, for messages: `s3://BUCKET/PREFIX`.
    static var form: String { get }
    /// The origin of credentials, for help and errors: continues "credentials come from …".
    static var credentialsHelp: String { get }
    /// Maximum validity of a presigned URL.
    static var maximumValiditySeconds: Int { get }

    /// Parses an address.
    /// - Parameter text: begins with the scheme.
    init(_ text: String, endpoint: StoreEndpoint?, region: String?) throws(StoreAddress.Flaw)

    /// ``StoreAddress/origin``.
    var origin: String { get }

    /// ``StoreAddress/open(patience:shutdown:)``.
    func open(
        patience: StorePatience, shutdown: Shutdown
    ) throws(ObjectStoreError) -> any ObjectBucket
}
