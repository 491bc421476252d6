package import Messaging

/// The name under which a server authorises a key, and the sources that the key may then write.
package struct KeyHolder: Hashable, Sendable {
    package var name: String
    /// Empty: the source of that name.
    package var sources: [String]

    package init(name: String, sources: [String] = []) {
        self.name = name
        self.sources = sources
    }

    /// The holder of a box's key. For one source, it has the name of the source. For several, it has the name of the box,
    /// because a key has one name on a server.
    /// - Parameters:
    ///   - sources: all sources of the box's agent, without previews; empty: only `source`.
    ///   - source: the source that is connected.
    ///   - box: the box's name.
    package init(of sources: [String], source: String, box: String) {
        self.init(
            name: sources.count > 1 ? box : sources.first ?? source,
            sources: sources.count > 1 ? sources : [])
    }

    /// The command for the server that authorises the key.
    package func command(for key: PublicKey, watches: Bool = false) -> String {
        "tributary keys authorize \(name) \(key.text)"
            + (sources.isEmpty ? "" : " --sources \(sources.joined(separator: ","))")
            + (watches ? " --watch" : "")
    }
}
