import Catalog
import Messaging
import Terminal
import Trust

/// The address to which clock probes for another collector of the site are sent, by its report.
struct PeerProbeAddress: Hashable, Sendable {
    /// How it is reached.
    enum Way: Hashable, Sendable {
        /// - Parameter key: its key; nil: without keys.
        case connect(endpoint: String, key: PublicKey?)
        /// No probes are sent, for this reason: one line.
        case none(String)
    }

    var name: String
    /// The identity of its archive.
    var archive: String
    var way: Way
    /// Its key, with which it requests clock exchanges here.
    var key: PublicKey?

    /// Nil: it is stopped, or its report cannot be read.
    /// - Parameters:
    ///   - machine: this machine's name.
    ///   - hasKeys: whether this collector uses keys.
    init?(_ collector: SiteCollector, machine: String, hasKeys: Bool) {
        guard let report = collector.report, !report.isStopped else { return nil }
        name = collector.name
        archive = collector.archive
        guard report.clock != nil else {
            way = .none("its version \(report.version) does not say which clock it has: upgrade it")
            return
        }
        var flaw: String?
        if let text = report.key {
            do throws(TrustError) {
                key = try PublicKey(text: text)
            } catch {
                flaw = "its report has an invalid key: \(error)"
            }
        }
        let isHere = report.machine == machine
        let endpoint = report.reachableListen(isHere: isHere)
        if let flaw {
            way = .none(flaw)
        } else if let flaw = Self.flaw(endpoint, report, isHere: isHere) {
            way = .none(flaw)
        } else if key != nil, !hasKeys {
            way = .none(
                "it uses keys, and this collector none: give both keys, or start both with --insecure"
            )
        } else if key == nil, hasKeys, !Endpoint.isLocal(endpoint) {
            way = .none(
                "it uses no keys, and this collector does: give both keys, or start both with --insecure"
            )
        } else {
            way = .connect(endpoint: endpoint, key: key)
        }
    }

    private static func flaw(_ endpoint: String, _ report: SiteReport, isHere: Bool) -> String? {
        if Endpoint.flaw(endpoint) != nil || endpoint.hasSuffix(":*") {
            return
                "it listens on \(report.listen), which does not say how to reach it: start it with --advertise"
        }
        if Endpoint.isLocal(endpoint), !isHere {
            return
                "it listens on \(endpoint) of \(report.machine), which other machines cannot reach: start it with --advertise"
        }
        return nil
    }
}

extension PeerProbeAddress {
    /// Authorisation of its key: clock exchanges only, no sources. Nil without a key.
    var authorization: Authorization? {
        guard let key else { return nil }
        do throws(TrustError) {
            return try Authorization(name: name, key: key, sources: [])
        } catch {
            // The name is invalid: its key is not admitted.
            return nil
        }
    }
}
