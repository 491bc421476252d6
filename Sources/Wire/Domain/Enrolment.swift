/// A box's request to be authorised with its own key; it connects with a one-time key that permits nothing else.
package struct Enrol: Hashable, Sendable {
    /// Product and version, for logs.
    package var software: String
    /// The box's name, for logs.
    package var agent: String
    /// The box's own CURVE public key, 32 bytes.
    package var publicKey: [UInt8]

    package init(software: String, agent: String, publicKey: [UInt8]) {
        self.software = software
        self.agent = agent
        self.publicKey = publicKey
    }
}

/// The answer to ``Enrol``: the box's own key is authorised, durably.
package struct Enrolled: Hashable, Sendable {
    /// The box's name on the server; a valid ``SourceName``.
    package var name: String
    /// The sources that it may write, or the first ones of a list that is longer than ``WireLimits/patternsPerKey``.
    package var sources: [SourcePattern]

    package init(name: String, sources: [SourcePattern]) {
        self.name = name
        self.sources = sources
    }
}
