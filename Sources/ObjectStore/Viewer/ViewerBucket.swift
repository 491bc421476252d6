import FoundationEssentials
package import Threads

/// An archive on another machine's disk, read through its collector's viewer (`/api/v1/archives`), which also sets marks,
/// labels and protection.
///
/// The viewer is not trusted: answers are bounded, their sizes and ranges are compared with what was asked for, and
/// redirects are not followed. Nothing is retried.
package final class ViewerBucket: ReadableBucket {
    /// Objects per page of a listing.
    package static let page = 1_000
    /// A page with keys of 1,024 bytes.
    private static let maximumListingBytes = 4 << 20
    /// Maximum bytes of one range, which are held in memory.
    private static let maximumRangeBytes = 64 << 20
    /// Maximum size of a response without data.
    private static let maximumHeadBytes = 64 << 10
    /// A slower connection counts as stalled.
    private static let slowestBytesPerSecond: Int64 = 16 << 10

    package let name: String
    private let address: ViewerAddress
    private let archive: String
    private let tokens: SiteTokens
    private let transport: any StoreTransport
    private let deadlineNanoseconds: Int64

    /// - Parameters:
    ///   - archive: the archive's identity.
    ///   - collector: its collector, for messages.
    ///   - name: of the archive in messages; nil: the address and the collector.
    ///   - authorities: a file of trusted certificates (PEM), instead of the system's; nil: the system's.
    ///   - shutdown: ends every wait for the viewer.
    package convenience init(
        _ address: ViewerAddress, archive: String, collector: String, name: String? = nil,
        tokens: SiteTokens, authorities: String?, patience: StorePatience = .reading,
        shutdown: Shutdown
    ) throws(ObjectStoreError) {
        let transport: HTTPTransport
        do throws(TransportFailure) {
            transport = try HTTPTransport(
                authorities: authorities, setting: "--site-ca-file",
                timeouts: TransportTimeouts(patience), shutdown: shutdown)
        } catch {
            throw ObjectStoreError(.refused, "\(error)")
        }
        self.init(
            address, archive: archive, collector: collector, name: name, tokens: tokens,
            transport: transport,
            deadlineNanoseconds: patience.deadlineNanoseconds)
    }

    init(
        _ address: ViewerAddress, archive: String, collector: String, name: String? = nil,
        tokens: SiteTokens, transport: any StoreTransport,
        deadlineNanoseconds: Int64 = StorePatience.reading.deadlineNanoseconds
    ) {
        self.name = name ?? "\(address)/\(collector)"
        self.address = address
        self.archive = archive
        self.tokens = tokens
        self.transport = transport
        self.deadlineNanoseconds = deadlineNanoseconds
    }

    package func list(
        prefix: String, after: String?, folders: Bool
    ) throws(ObjectStoreError) -> ObjectPage {
        var query = [("prefix", prefix)]
        if let after { query.append(("after", after)) }
        if folders { query.append(("folders", "true")) }
        let what = "list \(prefix.isEmpty ? "its sessions" : prefix)"
        let answer = try ask(
            Call(.get, "objects", query, what, maximumAnswerBytes: Self.maximumListingBytes))
        guard answer.status == 200 else { throw refused(answer, what) }
        let listed: ViewerObjects
        do {
            listed = try JSONDecoder().decode(ViewerObjects.self, from: Data(answer.body))
        } catch {
            throw nonsense("its list of files is no such document", what)
        }
        guard let page = listed.page(prefix: prefix, after: after, limit: Self.page) else {
            throw nonsense("its list of files is not what was asked for", what)
        }
        return page
    }

    package func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
        let what = "look at \(key)"
        let answer = try ask(
            Call(
                .head, "object", [("key", key)], what, maximumAnswerBytes: Self.maximumHeadBytes))
        if answer.status == 404 { return nil }
        guard answer.status == 200 else { throw refused(answer, what) }
        guard let size = answer.headers["content-length"].flatMap({ Int64($0) }), size >= 0,
            let tag = answer.headers["etag"], ViewerObjects.isTag(tag)
        else { throw nonsense("it tells no size or tag", what) }
        return ObjectProperties(sizeBytes: size, tag: tag)
    }

    package func read(
        _ key: String, range: Range<Int64>, tag: String?
    ) throws(ObjectStoreError) -> [UInt8] {
        precondition(range.lowerBound >= 0 && range.count <= Self.maximumRangeBytes)
        if range.isEmpty { return [] }
        let what = "read \(key)"
        let wanted = "\(range.lowerBound)-\(range.upperBound - 1)"
        var call = Call(
            .get, "object", [("key", key)], what, maximumAnswerBytes: range.count)
        call.headers = [("Range", "bytes=\(wanted)")]
        if let tag { call.headers.append(("If-Match", tag)) }
        call.slowBytes = Int64(range.count)
        let answer = try ask(call)
        if answer.status == 404 {
            throw ObjectStoreError(.gone, "\(name): cannot \(what): it does not exist any more")
        }
        guard answer.status == 206 else {
            if (200..<300).contains(answer.status) {
                throw nonsense("it sends something else than the range that was asked for", what)
            }
            throw refused(answer, what)
        }
        guard answer.headers["content-range"]?.hasPrefix("bytes \(wanted)/") ?? false else {
            throw nonsense("it sends another range than was asked for", what)
        }
        guard answer.body.count == range.count else {
            throw nonsense("it sends \(answer.body.count) bytes of \(range.count)", what)
        }
        return answer.body
    }

    // MARK: - Marks

    /// Sets a mark of a session. It replaces one with the same identity, so the request can be repeated.
    /// - Parameter mark: without a time: at the present instant, by the clock of the viewer's machine.
    /// - Returns: the mark as it was set, with its time; nil if `mark` has no time and the session is not being recorded.
    package func setMark(
        _ mark: ViewerMark, of session: String
    ) throws(ObjectStoreError) -> ViewerMark? {
        let what = "mark \(session)"
        var call = Call(
            .post, "marks", [("session", session)], what, maximumAnswerBytes: Self.maximumHeadBytes)
        call.purpose = .marking
        call.headers = [("Content-Type", "application/json")]
        do {
            call.body = [UInt8](try JSONEncoder().encode(mark))
        } catch {
            throw ObjectStoreError(.refused, "\(name): cannot \(what): it cannot be written")
        }
        let answer = try ask(call)
        if answer.status == 422, mark.atNanoseconds == nil { return nil }
        guard answer.status == 201 else { throw refused(answer, what, isChange: true) }
        let made: ViewerMark
        do {
            made = try JSONDecoder().decode(ViewerMark.self, from: Data(answer.body))
        } catch {
            throw nonsense("its answer is no mark", what)
        }
        guard let time = made.atNanoseconds, made.id == mark.id, made.text == mark.text,
            made.source == mark.source,
            mark.atNanoseconds.map({ Self.isEqual($0, time) }) ?? true
        else { throw nonsense("its answer is another mark", what) }
        var set = mark
        set.atNanoseconds = mark.atNanoseconds ?? time
        return set
    }

    /// Whether two times are equal as far as seconds in JSON are exact.
    private static func isEqual(_ one: Int64, _ other: Int64) -> Bool {
        let (distance, overflow) = one.subtractingReportingOverflow(other)
        return !overflow && distance.magnitude < 1_000
    }

    /// Removes a mark of a session; one that is not there is no error.
    package func removeMark(_ id: String, of session: String) throws(ObjectStoreError) {
        let what = "remove a mark of \(session)"
        var call = Call(
            .delete, "marks/\(URIEncoding.encoded(id))", [("session", session)], what,
            maximumAnswerBytes: Self.maximumHeadBytes)
        call.purpose = .marking
        let answer = try ask(call)
        guard answer.status == 204 else { throw refused(answer, what, isChange: true) }
    }

    // MARK: - Labels

    /// Changes labels and the protection of a session. The request can be repeated.
    package func edit(_ edit: ViewerEdit, of session: String) throws(ObjectStoreError) {
        let what = "change \(session)"
        var call = Call(
            .post, "edits", [("session", session)], what, maximumAnswerBytes: Self.maximumHeadBytes)
        call.purpose = .editing
        call.headers = [("Content-Type", "application/json")]
        do {
            call.body = [UInt8](try JSONEncoder().encode(edit))
        } catch {
            throw ObjectStoreError(.refused, "\(name): cannot \(what): it cannot be written")
        }
        let answer = try ask(call)
        guard answer.status == 204 else { throw refused(answer, what, isChange: true) }
    }

    // MARK: - Requests

    private struct Call {
        var method: StoreRequest.Method
        /// The path below the archive.
        var place: String
        var query: [(name: String, value: String)]
        /// Continues "cannot".
        var what: String
        var headers: [(name: String, value: String)] = []
        var body: [UInt8] = []
        var purpose = SiteSecret.Purpose.reading
        var maximumAnswerBytes: Int
        /// Media bytes, which a slow connection may delay.
        var slowBytes: Int64 = 0

        init(
            _ method: StoreRequest.Method, _ place: String,
            _ query: [(name: String, value: String)], _ what: String, maximumAnswerBytes: Int
        ) {
            self.method = method
            self.place = place
            self.query = query
            self.what = what
            self.maximumAnswerBytes = maximumAnswerBytes
        }
    }

    private func ask(_ call: Call) throws(ObjectStoreError) -> StoreAnswer {
        let query = call.query.map { "\($0.name)=\(URIEncoding.encoded($0.value))" }
            .joined(separator: "&")
        let code = tokens.code(for: address.authority, archive: archive, call.purpose)
        do throws(TransportFailure) {
            return try transport.exchange(
                StoreRequest(
                    method: call.method,
                    address:
                        "\(address)/api/v1/archives/\(URIEncoding.encoded(archive))/\(call.place)?\(query)",
                    headers: [("Authorization", "Bearer \(code)")] + call.headers,
                    body: ObjectBytes(call.body),
                    // An error is one line.
                    maximumAnswerBytes: max(call.maximumAnswerBytes, Self.maximumHeadBytes),
                    deadlineNanoseconds: deadlineNanoseconds
                        + call.slowBytes * 1_000_000_000 / Self.slowestBytesPerSecond))
        } catch {
            if error == .cancelled {
                throw ObjectStoreError(.stopped, "\(name): cannot \(call.what): \(error)")
            }
            throw nonsense("\(error)", call.what)
        }
    }

    private func nonsense(_ reason: String, _ what: String) -> ObjectStoreError {
        ObjectStoreError(.unreachable, "\(name): cannot \(what): \(reason)")
    }

    /// The error of an answer without what was asked for. The viewer's own words are not repeated.
    private func refused(
        _ answer: StoreAnswer, _ what: String, isChange: Bool = false
    ) -> ObjectStoreError {
        let (kind, reason): (ObjectStoreError.Kind, String) =
            switch answer.status {
            case 404 where isChange:
                (
                    .refused,
                    "the viewer is of an older version, which does not change that, or has no such archive: upgrade it, or check --viewer-url of the collector"
                )
            case 409 where isChange:
                (
                    .refused,
                    "the collector there does not do it: it has to run, with --group-commands; the viewer's log has the reason"
                )
            case 410 where isChange: (.gone, "the session is not there any more")
            case 401, 403:
                (
                    .denied,
                    "the viewer refuses the site's token: give both the same --site-token-file"
                )
            case 404:
                (
                    .refused,
                    "the viewer has no such archive: check --viewer-url of the collector, and --archive of the viewer"
                )
            case 412: (.changed, "the file was replaced")
            case 416: (.changed, "the file has become shorter")
            case 421:
                (.refused, "the viewer does not have that name: add it to its --host-name")
            case 429: (.denied, "too many wrong tokens have come from here: try again in a minute")
            case 300..<400:
                (.refused, "it redirects to another address: give that one in --viewer-url")
            case 500..<600: (.busy, "the viewer cannot answer now (\(answer.status))")
            default: (.refused, "it answers with status \(answer.status), as no viewer does")
            }
        return ObjectStoreError(kind, "\(name): cannot \(what): \(reason)")
    }
}
