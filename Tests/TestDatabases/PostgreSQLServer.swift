import Foundation
import Glibc
package import PostgreSQL
import Synchronization

/// A PostgreSQL server in a temporary directory, reached by a socket there. It ends with the process that started it, however that ends.
package final class PostgreSQLServer: Sendable {
    /// Why it cannot run here; nil: it can.
    package static let absence: String? = {
        if programs == nil { return "initdb is not installed (Debian: postgresql-15)" }
        if geteuid() == 0, !FileManager.default.isExecutableFile(atPath: setpriv) {
            return "the server does not run as root, and \(setpriv) is not installed"
        }
        return nil
    }()

    private static let setpriv = "/usr/bin/setpriv"

    /// The directory of its programs: Debian's, or on PATH.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let newest = versions.compactMap { Int($0) }.max().map { "\(root)/\($0)/bin" }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return ([newest].compactMap { $0 } + path.split(separator: ":").map(String.init)).first {
            FileManager.default.isExecutableFile(atPath: "\($0)/initdb")
        }
    }()

    /// One for all tests that do not stop it.
    package static let shared = Result { try PostgreSQLServer() }

    package struct Failed: Error {
        package var text: String
    }

    /// The server ends with its input.
    private static let script = """
        set -e
        d=$(mktemp -d /tmp/tributary-postgres-XXXXXX)
        export HOME=$d
        cd "$d"
        trap '"$0/pg_ctl" -D "$d/data" -m immediate stop > /dev/null 2>&1; rm -rf "$d"' EXIT
        "$0/initdb" -D "$d/data" -U postgres -A trust -E UTF8 --no-sync > "$d/initdb.log" 2>&1
        printf "listen_addresses = ''\\nunix_socket_directories = '%s'\\nfsync = off\\n" "$d" >> "$d/data/postgresql.conf"
        "$0/pg_ctl" -D "$d/data" -w -l "$d/log" start > /dev/null 2>&1
        echo "$d"
        while read -r words; do
            "$0/pg_ctl" -D "$d/data" -w -l "$d/log" $words > /dev/null 2>&1
            echo done
        done
        """

    private let input: FileHandle
    private let output: FileHandle
    private let turn = Mutex(())
    /// Its directory, with the socket.
    package let directory: String

    package init() throws {
        guard let programs = Self.programs else { throw Failed(text: "no initdb") }
        let process = Process()
        let words = ["/bin/sh", "-c", Self.script, programs]
        let own =
            geteuid() == 0
            ? [Self.setpriv, "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
        let all = own + words
        process.executableURL = URL(fileURLWithPath: all[0])
        process.arguments = Array(all.dropFirst())
        let (toServer, fromServer) = (Pipe(), Pipe())
        process.standardInput = toServer
        process.standardOutput = fromServer
        process.standardError = FileHandle.nullDevice
        try process.run()
        input = toServer.fileHandleForWriting
        output = fromServer.fileHandleForReading
        directory = try Self.line(of: output)
    }

    deinit {
        // The script stops the server and removes the directory.
        do { try input.close() } catch { print("\(directory): \(error)") }
    }

    private static func line(of output: FileHandle) throws -> String {
        var line: [UInt8] = []
        while true {
            guard let byte = try output.read(upToCount: 1)?.first else {
                throw Failed(text: "the server did not start")
            }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    private func control(_ words: String) throws {
        try turn.withLock { _ in
            try input.write(contentsOf: Data("\(words)\n".utf8))
            _ = try Self.line(of: output)
        }
    }

    package func stop() throws { try control("-m immediate stop") }
    package func start() throws { try control("start") }

    package func address(
        role: String = "postgres", database: String = "postgres"
    ) throws -> PostgreSQLAddress {
        try PostgreSQLAddress(text(role: role, database: database))
    }

    /// The same for a command line.
    package func text(role: String = "postgres", database: String = "postgres") -> String {
        "postgresql:///\(database)?host=\(directory)&user=\(role)"
    }

    /// Runs statements as the server's owner.
    package func execute(_ statements: String, database: String = "postgres") throws {
        let connection = try PostgreSQLConnection(
            address(database: database), for: .writing, program: "tests",
            setup: "SET client_min_messages = warning")
        try connection.execute(statements)
    }
}
