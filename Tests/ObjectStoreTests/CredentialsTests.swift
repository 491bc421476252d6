import Synchronization
import Testing

@testable import ObjectStore

@Suite struct CredentialsTests {
    /// A test's files and clock.
    private final class Scene: Sendable {
        let files = Mutex<[String: String]>([:])
        let now = Mutex<Int64>(0)
        let reads = Mutex(0)

        func source(_ environment: [String: String]) -> CredentialsSource {
            CredentialsSource(
                environment: environment,
                readFile: { [self] path in
                    reads.withLock { $0 += 1 }
                    return files.withLock { $0[path].map { Array($0.utf8) } }
                }, monotonicNow: { [self] in now.withLock { $0 } })
        }
    }

    private let scene = Scene()

    private static let file = """
        # a comment
        [default]
        aws_access_key_id = first
        aws_secret_access_key=one
        [other]
          aws_access_key_id=second
          aws_secret_access_key = two=2
          aws_session_token = three
        """

    private func failure(_ source: CredentialsSource) -> ObjectStoreError? {
        do throws(ObjectStoreError) {
            _ = try source.credentials()
            return nil
        } catch {
            return error
        }
    }

    @Test func `the environment comes first`() throws {
        scene.files.withLock { $0["/home/a/.aws/credentials"] = Self.file }
        let found = try scene.source([
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_SESSION_TOKEN": "token", "HOME": "/home/a",
        ]).credentials()
        #expect(
            found == StoreCredentials(accessKey: "key", secretKey: "secret", sessionToken: "token"))
        #expect(scene.reads.withLock { $0 } == 0)
    }

    @Test func `a file has profiles`() throws {
        scene.files.withLock {
            $0["/home/a/.aws/credentials"] = Self.file
            $0["/etc/keys"] = Self.file.replacing("\n", with: "\r\n")
        }
        let home = try scene.source(["HOME": "/home/a", "AWS_ACCESS_KEY_ID": ""]).credentials()
        #expect(home == StoreCredentials(accessKey: "first", secretKey: "one"))
        let named = try scene.source([
            "HOME": "/home/a", "AWS_SHARED_CREDENTIALS_FILE": "/etc/keys", "AWS_PROFILE": "other",
        ]).credentials()
        #expect(
            named
                == StoreCredentials(
                    accessKey: "second", secretKey: "two=2", sessionToken: "three"))
    }

    @Test func `the missing credential is named`() {
        #expect(failure(scene.source(["HOME": "/home/a"]))?.kind == .denied)
        #expect(
            failure(scene.source(["AWS_ACCESS_KEY_ID": "key"]))?.message.hasPrefix(
                "AWS_SECRET_ACCESS_KEY is not set") == true)
        scene.files.withLock { $0["/home/a/.aws/credentials"] = Self.file }
        let error = failure(scene.source(["HOME": "/home/a", "AWS_PROFILE": "third"]))
        #expect(error?.message.contains("'third'") == true)
        #expect(error?.message.contains("one") == false)
        // A line break in a key would end a header.
        let odd = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "a\r\nb"]
        #expect(failure(scene.source(odd))?.kind == .denied)
    }

    @Test func `a file is read again after a minute, and when a store denies`() throws {
        scene.files.withLock { $0["/home/a/.aws/credentials"] = Self.file }
        let source = scene.source(["HOME": "/home/a"])
        _ = try source.credentials()
        scene.files.withLock {
            $0["/home/a/.aws/credentials"] = Self.file.replacing("first", with: "renewed")
        }
        scene.now.withLock { $0 = 59_000_000_000 }
        #expect(try source.credentials().accessKey == "first")
        #expect(try source.credentials(isRenewing: true).accessKey == "renewed")
        scene.files.withLock { $0["/home/a/.aws/credentials"] = Self.file }
        scene.now.withLock { $0 = 119_000_000_001 }
        #expect(try source.credentials().accessKey == "first")
    }

    @Test func `credentials do not show themselves`() {
        let credentials = StoreCredentials(
            accessKey: "key", secretKey: "hunter2", sessionToken: "hunter3")
        var dumped = ""
        dump(credentials, to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), dumped] {
            #expect(!text.contains("hunter"))
        }
    }
}
