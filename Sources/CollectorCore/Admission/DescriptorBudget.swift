import Terminal

/// Division of the process's file descriptors between connections and the files of sources. Neither can use up those of the
/// other.
struct DescriptorBudget {
    /// The agents that the protocol allows, with two connections each, and a reserve for reconnects.
    private static let maximumConnections = 2 * 4_096 + 512
    /// The protocol's limit of sources.
    private static let maximumSources = 16_384
    /// Maximum share of descriptors for connections: the rest is for files.
    private static let shareOfDescriptors = 0.5
    /// A source's media file, its ledger, and the next file at a cut.
    private static let descriptorsPerSource = 3
    /// Descriptors for libraries, logs, the catalog, HTTP clients and uploads.
    private static let otherDescriptors = 96
    /// Accepted with any limit.
    private static let leastSources = 8

    /// Maximum number of connections.
    let connections: Int
    /// Maximum number of known sources.
    let sources: Int

    /// The budget of this process, whose limit is raised as far as useful.
    init() {
        self.init(
            descriptors: DescriptorLimit.raise(
                to: Self.maximumConnections + Self.descriptorsPerSource * Self.maximumSources
                    + Self.otherDescriptors))
    }

    init(descriptors: Int) {
        connections = min(
            Self.maximumConnections, Int(Double(descriptors) * Self.shareOfDescriptors))
        let rest = descriptors - connections - Self.otherDescriptors
        sources = min(Self.maximumSources, max(Self.leastSources, rest / Self.descriptorsPerSource))
    }
}
