import AgentCore
import ArgumentParser
import Encoding
import Glibc
import Terminal

/// Storage of samples until the collector has them on disk, and its limits.
struct KeepingOptions: ParsableArguments {
    @Option(
        help: """
            Spool directory; each source has a subdirectory in it. none: keep samples in memory only; a restart or a power \
            failure then loses the samples that the collector does not have yet. (default: $STATE_DIRECTORY, \
            /var/lib/tributary-agent for root, $XDG_STATE_HOME/tributary-agent, or ~/.local/state/tributary-agent)
            """)
    var spool: String?

    @Option(
        help: """
            Maximum size of the spool. When it is full, samples that the collector has on its disk and wants kept until its \
            store has them go first; then the oldest GOPs are dropped and recorded as gaps.
            """
    )
    var spoolLimit = ByteCount(2_000_000_000)

    @Option(
        help: "Maximum size of the samples kept in memory, without a spool or after a disk failure."
    )
    var memoryLimit = ByteCount(64 << 20)

    @Option(
        help: """
            How long to continue sending after Ctrl-C or SIGTERM, and how long to wait after the end of the source for an \
            unreachable collector, or for the collector's store (--release stored there). Samples not sent or not released by \
            then stay in the spool. With --spool none, the wait after the end of the source has no limit, because the samples \
            would be lost.
            """)
    var linger = TimeSpan(nanoseconds: UplinkSettings.defaultLinger.nanoseconds)

    func validate() throws {
        guard memoryLimit.bytes >= 16 << 20 else {
            throw ValidationError("--memory-limit \(memoryLimit) is too small: use at least 16MiB")
        }
        guard spoolLimit.bytes >= 1_000_000 else {
            throw ValidationError("--spool-limit \(spoolLimit) is too small: use at least 1MB")
        }
        if let spool, spool.isEmpty {
            throw ValidationError("--spool is empty: give a directory, or none")
        }
    }

    /// The source's spool; nil: none.
    func spool(source: String) throws -> SpoolSettings? {
        if spool == "none" { return nil }
        guard let directory = spool ?? Self.usualDirectory() else {
            throw UsageError(
                "there is no home directory for the spool: use --spool DIR or --spool none"
            )
        }
        return SpoolSettings(
            path: "\(directory)/\(source)", limitBytes: Int(spoolLimit.bytes))
    }

    /// One line for each spool here with records of another source that no agent sends.
    func unclaimed(except sources: [String]) -> [String] {
        guard let directory = Self.directory(spool) else { return [] }
        return UnclaimedSpool.all(in: directory, except: sources).map(\.line)
    }

    /// State directory of system services.
    static let systemDirectory = "/var/lib/tributary-agent"

    /// Directory of spools and control sockets; nil if there is none.
    static func directory(_ spool: String?) -> String? {
        spool == "none" ? nil : spool ?? usualDirectory()
    }

    /// The state directory: of systemd (systemd.exec(5), `StateDirectory=`), otherwise according to the Filesystem Hierarchy
    /// Standard for root, and to the XDG Base Directory Specification for other users.
    private static func usualDirectory() -> String? {
        func variable(_ name: String) -> String? {
            guard let value = getenv(name).map({ String(cString: $0) }), value.hasPrefix("/") else {
                return nil
            }
            return value
        }
        // Several directories are separated by colons: the first is ours.
        if let state = variable("STATE_DIRECTORY") {
            return String(state.prefix { $0 != ":" })
        }
        if geteuid() == 0 { return systemDirectory }
        if let state = variable("XDG_STATE_HOME") { return "\(state)/tributary-agent" }
        return variable("HOME").map { "\($0)/.local/state/tributary-agent" }
    }
}
