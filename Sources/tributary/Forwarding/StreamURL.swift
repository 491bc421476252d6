import Containers
import Files
import Terminal

/// The URL of a streaming server, which may contain a password, a passphrase or a stream key.
enum StreamURL {
    /// Maximum length of a file with a URL.
    private static let maximumBytes = 4_096

    /// The error in a URL that was given on the command line, in one line; nil: it is valid there. A stream key cannot be
    /// distinguished from another part of a path.
    static func flaw(onCommandLine url: String) -> String? {
        guard let mark = url.firstRange(of: "://") else { return nil }
        let rest = url[mark.upperBound...]
        guard
            rest.prefix(while: { $0 != "/" && $0 != "?" }).contains("@")
                || rest.contains("passphrase=")
        else { return nil }
        return
            "a password in the URL can be read by every user of this machine: put the URL into a file and use --url-file"
    }

    /// A destination's name for messages, without secret parts of its URL.
    static func name(_ destination: String) -> String {
        destination.contains("://") ? ContainerDestination.url(destination).name : destination
    }

    /// The URL in a file's first line that is not empty.
    static func read(file: String) throws -> String {
        let content: SmallFile.Content?
        do throws(FileError) {
            content = try SmallFile.read(file, limit: maximumBytes, .secret)
        } catch .accessibleByOthers {
            throw Failure("--url-file \(file) can be read by other users: chmod 600 \(file)")
        } catch {
            throw Failure("--url-file: \(error)")
        }
        guard let content else {
            throw Failure(
                "--url-file \(file) does not exist: write the URL into it, with mode 600")
        }
        guard let url = StreamAddress.text(inFile: content.bytes) else {
            throw UsageError(
                "--url-file \(file) has no URL in its first line: write the URL into it")
        }
        return url
    }
}
