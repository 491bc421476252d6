import CCurl
import Files
import Glibc
import Media
import Threads

/// A persistent connection to a store: a libcurl handle and the loop that drives it.
///
/// libcurl is restricted to HTTP/1.1, without redirects, proxies, user files, cookies and retries. Time and size limits
/// are ours.
///
/// `@unchecked Sendable`: it is lent to one thread at a time (``HTTPTransport``), with a lock in between. Other threads
/// only wake it, which libcurl permits (curl_multi_wakeup(3)).
final class HTTPConnection: @unchecked Sendable {
    /// Bytes of a request that are passed to libcurl together; they count as sent when it has sent them.
    private static let pieceBytes = 256 << 10
    /// Stores close connections that are idle for longer.
    static let idleSeconds = 15

    private let setting: String?
    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer

    /// Initialises libcurl for this process; false on failure.
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// - Parameters:
    ///   - authorities: a file of trusted certificates, instead of the system's; nil: the system's.
    ///   - setting: where that file is named; nil: nowhere.
    init(
        authorities: String?, setting: String?, timeouts: TransportTimeouts
    ) throws(TransportFailure) {
        self.setting = setting
        guard Self.isReady, let easy = curl_easy_init() else { throw Self.unusable }
        guard let multi = curl_multi_init() else {
            curl_easy_cleanup(easy)
            throw Self.unusable
        }
        self.easy = easy
        self.multi = multi
        CCurl_set_multi_number(multi, CURLMOPT_MAXCONNECTS, 1)
        try set(
            CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(timeouts.connectNanoseconds / 1_000_000)))
        try setConstants()
        try setTrust(authorities)
    }

    deinit {
        curl_multi_cleanup(multi)
        curl_easy_cleanup(easy)
    }

    private static let unusable = TransportFailure("libcurl does not start")

    private func setConstants() throws(TransportFailure) {
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        // An empty name also disables a proxy of the environment.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        // The signed path must be sent unchanged.
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // Neither signals nor, at the end, a wait for a name server.
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_MAXAGE_CONN, Self.idleSeconds)
        try set(CURLOPT_BUFFERSIZE, Self.pieceBytes)
        try set(CURLOPT_UPLOAD_BUFFERSIZE, Self.pieceBytes)
        try setCalls()
    }

    private func setCalls() throws(TransportFailure) {
        try check(
            CCurl_set_transfer(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, state in
                ExchangeState.of(state).head(
                    UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        try check(
            CCurl_set_transfer(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, state in
                ExchangeState.of(state).body(
                    UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        try check(
            CCurl_set_transfer(easy, CURLOPT_READFUNCTION) { bytes, size, count, state in
                ExchangeState.of(state).read(
                    into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            })
        try check(
            CCurl_set_before_request(easy) { state, _, _, _, _ in
                ExchangeState.of(state).request()
            })
    }

    private func setTrust(_ authorities: String?) throws(TransportFailure) {
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        guard let authorities else { return }
        try set(CURLOPT_CAINFO, authorities)
        // Debian's libcurl uses the system's directory as well.
        try check(CCurl_set_text(easy, CURLOPT_CAPATH, nil))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(TransportFailure) {
        try check(CCurl_set_number(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(TransportFailure) {
        try check(CCurl_set_text(easy, option, value))
    }

    private func check(_ code: CURLcode) throws(TransportFailure) {
        guard code == CURLE_OK else {
            throw TransportFailure(
                "libcurl \(String(cString: curl_version())) lacks what is needed: \(String(cString: curl_easy_strerror(code)))"
            )
        }
    }

    // MARK: - Exchanges

    /// Sends a request and waits for its response. After a failure the connection must not be used again.
    func exchange(
        _ request: StoreRequest, timeouts: TransportTimeouts, shutdown: Shutdown
    ) throws(TransportFailure) -> StoreAnswer {
        let headers = try HeaderList(request.headers)
        return try request.body.withUnsafeBytes { body throws(TransportFailure) in
            let state = ExchangeState(request, body)
            try prepare(request, headers, state)
            guard curl_multi_add_handle(multi, easy) == CURLM_OK else { throw Self.unusable }
            // It ends an incomplete exchange with its connection.
            defer {
                curl_multi_remove_handle(multi, easy)
                withExtendedLifetime((headers, state)) {}
            }
            try shutdown.withHandler({ self.wake() }) { () throws(TransportFailure) in
                var pace = ExchangePace(
                    request, timeouts: timeouts,
                    nowNanoseconds: SystemClock.monotonic.nowNanoseconds)
                try drive(&pace, state, shutdown)
            }
            return state.reader.answer
        }
    }

    private func wake() { curl_multi_wakeup(multi) }

    private func prepare(
        _ request: StoreRequest, _ headers: HeaderList, _ state: ExchangeState
    ) throws(TransportFailure) {
        // The body of the previous exchange must not be read again.
        try set(CURLOPT_HTTPGET, 1)
        try check(CCurl_set_text(easy, CURLOPT_CUSTOMREQUEST, nil))
        switch request.method {
        case .get: break
        case .head: try set(CURLOPT_NOBODY, 1)
        case .delete: try check(CCurl_set_text(easy, CURLOPT_CUSTOMREQUEST, "DELETE"))
        // Requests with a body state its length, even if it is 0.
        case .put, .post:
            try set(CURLOPT_UPLOAD, 1)
            try check(
                CCurl_set_size(
                    easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(request.body.count)))
            if request.method == .post {
                try check(CCurl_set_text(easy, CURLOPT_CUSTOMREQUEST, "POST"))
            }
        }
        try set(CURLOPT_URL, request.address)
        try check(CCurl_set_list(easy, CURLOPT_HTTPHEADER, headers.first))
        let context = Unmanaged.passUnretained(state).toOpaque()
        for option in [
            CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_PREREQDATA,
        ] {
            try check(CCurl_set_context(easy, option, context))
        }
    }

    private func drive(
        _ pace: inout ExchangePace, _ state: ExchangeState, _ shutdown: Shutdown
    ) throws(TransportFailure) {
        while true {
            var running: Int32 = 0
            guard curl_multi_perform(multi, &running) == CURLM_OK else { throw Self.unusable }
            if running == 0 { break }
            if shutdown.hasBegun { throw .cancelled }
            var sent: curl_off_t = 0
            CCurl_get_size(easy, CURLINFO_SIZE_UPLOAD_T, &sent)
            let now = SystemClock.monotonic.nowNanoseconds
            if let failure = pace.note(
                isConnected: state.isRequested, sentBytes: Int64(sent),
                receivedBytes: Int64(state.reader.receivedBytes), nowNanoseconds: now)
            {
                throw failure
            }
            let milliseconds = (pace.nextNanoseconds - now) / 1_000_000 + 1
            guard
                curl_multi_poll(multi, nil, 0, Int32(clamping: max(1, milliseconds)), nil)
                    == CURLM_OK
            else { throw Self.unusable }
        }
        var left: Int32 = 0
        guard let message = curl_multi_info_read(multi, &left),
            message.pointee.msg == CURLMSG_DONE
        else { throw Self.unusable }
        let code = message.pointee.data.result
        guard code == CURLE_OK else {
            throw state.failure
                ?? failure(code, of: state.authority, isRequested: state.isRequested)
        }
    }

    private func failure(
        _ code: CURLcode, of host: String, isRequested: Bool
    ) -> TransportFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: TransportFailure("its host \(host) is not known")
        case CURLE_COULDNT_CONNECT:
            TransportFailure("no connection to \(host): \(systemMessage(systemError))")
        case CURLE_OPERATION_TIMEDOUT:
            isInHandshake
                ? TransportFailure("it did not finish the TLS handshake in time")
                : TransportFailure("it did not accept a connection in time")
        case CURLE_PEER_FAILED_VERIFICATION:
            TransportFailure(
                "its certificate is not accepted: give its authority's in \(setting ?? "the system's trust store"), and the host's own name"
            )
        case CURLE_SSL_CACERT_BADFILE:
            TransportFailure(
                "the authorities' certificates cannot be read: install ca-certificates\(setting.map { ", or correct \($0)" } ?? "")"
            )
        case CURLE_SSL_CONNECT_ERROR:
            TransportFailure("no TLS connection: check whether it is http:// instead of https://")
        // libcurl would send the body again on a new connection, and cannot: as well, because nothing is sent twice.
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_ABORTED_BY_CALLBACK,
            CURLE_SEND_FAIL_REWIND:
            .closed
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            TransportFailure(
                isRequested ? "the connection broke" : "no connection to \(host)")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            TransportFailure("its answer is not HTTP")
        default:
            TransportFailure("the exchange failed: \(String(cString: curl_easy_strerror(code)))")
        }
    }

    /// The errno of the last connection attempt.
    private var systemError: Int32 {
        var code = 0
        CCurl_get_number(easy, CURLINFO_OS_ERRNO, &code)
        return Int32(truncatingIfNeeded: code)
    }

    private var isInHandshake: Bool {
        var connected: curl_off_t = 0
        CCurl_get_size(easy, CURLINFO_CONNECT_TIME_T, &connected)
        return connected > 0
    }
}
