import Archive
import Foundation
import Logging
import Messaging
import Testing
import Trust

@testable import CollectorCore

@Suite struct KeyAuthenticatorTests {
    private let directory = FileManager.default.temporaryDirectory
        .appending(path: "tributary-authenticator-\(UUID().uuidString)")
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func keys() throws -> LinkSecurity.Collector {
        let keys = KeyDirectory(directory.appending(path: "keys").path)
        _ = try keys.makeOwnKey()
        let wish = LinkSecurity.Request(
            endpoint: "tcp://127.0.0.1:*", isLocal: true, isInsecure: false, directory: keys.path)
        return try #require(try LinkSecurity.ofCollector(wish))
    }

    /// Polls until a condition holds, normally within milliseconds.
    private func eventually(_ isSo: () -> Bool) -> Bool {
        for _ in 0..<6_000 where !isSo() { usleep(10_000) }
        return isSo()
    }

    @Test func `reports why its thread has ended`() throws {
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let counters = RefusalCounters()
        let authenticator = try KeyAuthenticator(
            keys: try keys(), counters: counters, logger: logger
        ) {}
        try authenticator.open(in: try Context())
        #expect(counters.shutReason == nil)
        authenticator.fail(with: .system(operation: "wait for", subject: "sockets", errno: EINVAL))
        #expect(eventually { counters.shutReason != nil })
        #expect(counters.shutReason == "cannot wait for sockets: Invalid argument")
        authenticator.close()
    }

    @Test func `reports nothing after an orderly close`() throws {
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let counters = RefusalCounters()
        let authenticator = try KeyAuthenticator(
            keys: try keys(), counters: counters, logger: logger
        ) {}
        try authenticator.open(in: try Context())
        authenticator.close()
        #expect(counters.shutReason == nil)
    }

    @Test func `ends the collector if its thread has failed`() throws {
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        var settings = CollectorSettings(
            endpoint: "tcp://127.0.0.1:*", archive: directory.appending(path: "archive").path,
            segmentNanoseconds: 600_000_000_000, startAt: .firstSample,
            startWindowNanoseconds: 500_000_000, endsWithSession: false,
            changeable: ChangeableSettings(idleTimeoutNanoseconds: 0), software: "test")
        settings.keys = try keys()
        let collector = try Collector(settings: settings, logger: logger) { _ in }
        collector.refusals.shut("cannot wait for sockets: Invalid argument")
        let error = try #require(throws: CollectorError.self) { _ = try collector.run() }
        #expect(
            error
                == .cannotAdmitAnyMore(reason: "cannot wait for sockets: Invalid argument"))
        #expect(!error.description.contains("\n"))
    }
}
