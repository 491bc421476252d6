import Archive
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import ViewerCore

/// Queries of requests.
@Suite struct RequestQueryTests {
    /// 2026-11-20T22:40:00Z.
    private static let zero = UTCTime(nanoseconds: 1_795_214_400_000_000_000)
    private static let second: Int64 = 1_000_000_000
    private static let names: Set<String> = ["at", "count", "sources", "text"]

    /// - Parameter text: the query after the question mark; nil: none.
    private func query(_ text: String?) throws -> RequestQuery {
        let path = text.map { "/api/v1/live?\($0)" } ?? "/api/v1/live"
        let head = HTTPRequest(
            method: .get, scheme: "http", authority: "localhost", path: path)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
        return try RequestQuery(request, Self.names)
    }

    private func ranged(_ text: String) throws -> RequestQuery {
        let head = HTTPRequest(
            method: .get, scheme: "http", authority: "localhost", path: "/a?\(text)")
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
        return try RequestQuery(request, ["from", "until"])
    }

    /// The status of a refused query or parameter; nil: accepted.
    private func refusal(
        _ text: String, _ ask: (RequestQuery) throws -> Void = { _ in }
    ) -> Int? {
        do {
            try ask(try query(text))
            return nil
        } catch let problem as Problem {
            return problem.status.code
        } catch {
            Issue.record("\(text): \(error)")
            return nil
        }
    }

    /// A moment of a session, nanoseconds from its zero.
    private func moment(_ text: String) throws -> Int64? {
        try query("at=\(text)").moment("at", zero: Self.zero)
    }

    @Test(arguments: ["2026-11-29", "83.5", "soon"])
    func `an instant is UTC, and the message says nothing else`(text: String) throws {
        let query = try query("at=\(text)")
        let problem = #expect(throws: Problem.self) { try query.instant("at") }
        #expect(problem?.text == "'at' must be UTC, such as 2026-11-20T22:40:00.000Z")
    }

    @Test func `a request without a query has no values`() throws {
        for text in [nil, "", "&", "&&"] {
            let query = try query(text)
            for name in Self.names { #expect(query[name] == nil) }
            #expect(try query.moment("at", zero: Self.zero) == nil)
            #expect(try query.instant("at") == nil)
            #expect(try query.number("count", in: 1...5) == nil)
            #expect(try query.sources("sources") == nil)
        }
    }

    @Test func `values are percent-decoded UTF-8`() throws {
        let cases = [
            ("text=", ""), ("text", ""), ("text=a=b", "a=b"), ("text=a%20b%2Bc+d", "a b+c d"),
            ("text=%c3%A9", "é"), ("te%78t=1", "1"), ("text=%25", "%"), ("text=%26%3D", "&="),
            ("text=%F0%9F%8E%A5", "🎥"), ("count=1&text=2", "2"),
            ("text=/?:@!$'()*,;", "/?:@!$'()*,;"),
        ]
        for (text, value) in cases { #expect(try query(text)["text"] == value, "\(text)") }
    }

    @Test func `a query that is not percent-encoded UTF-8 is refused`() {
        for text in [
            "text=%", "text=%4", "text=a%", "text=%zz", "text=%4g", "text=%%41", "%=1", "%4=1",
            "text=% 41", "text=%00", "text=a%00b", "te%00xt=1", "text=%C3", "text=%C3%28",
            "text=%FF", "text=%ED%A0%80", "text=%C0%AF", "text=%F4%90%80%80", "text=%A9",
        ] {
            #expect(refusal(text) == 400, "\(text)")
        }
    }

    @Test func `a sign in a percent-encoding is refused`() {
        for text in ["text=%+1", "text=%-1", "text=%+f", "text=%-0"] {
            #expect(refusal(text) == 400, "\(text)")
        }
    }

    @Test func `an unknown parameter is refused in any spelling`() {
        for text in [
            "other=1", "other", "At=1", "=1", "=", "at=1&other=2", "%6Fther=1", "at%20=1",
        ] {
            #expect(refusal(text) == 400, "\(text)")
        }
    }

    @Test func `a repeated parameter is refused in any spelling`() {
        for text in ["at=1&at=2", "at=1&at=1", "at&at", "at=1&text=2&%61t=3"] {
            #expect(refusal(text) == 400, "\(text)")
        }
    }

    @Test func `a query that is too long is refused`() throws {
        let longest = "text=" + String(repeating: "a", count: 12_288 - 5)
        #expect(try query(longest)["text"]?.utf8.count == 12_283)
        #expect(refusal(longest + "a") == 414)
        #expect(refusal("text=" + String(repeating: "%41", count: 4_100)) == 414)
    }

    @Test func `a moment is seconds of session time, a clock's time, or UTC`() throws {
        let half = Self.second / 2
        let cases: [(String, Int64)] = [
            ("83.5", 83 * Self.second + half), ("0", 0), ("83.5s", 83 * Self.second + half),
            ("500ms", half), ("1:23.5", 83 * Self.second + half),
            ("1%3A23.5", 83 * Self.second + half), ("1:02:03", 3_723 * Self.second),
            ("-5", -5 * Self.second), ("-1:00", -60 * Self.second), ("0.000000001", 1),
            ("2026-11-20T22:40:00Z", 0), ("2026-11-20T22:40:01.5Z", Self.second + half),
            ("2026-11-20T22-40-01.500Z", Self.second + half),
            ("2026-11-20T22%3A39%3A59Z", -Self.second),
            ("1970-01-01T00:00:00Z", -Self.zero.nanoseconds),
        ]
        for (text, nanoseconds) in cases {
            #expect(try moment(text) == nanoseconds, "\(text)")
        }
    }

    @Test func `an invalid time is refused`() {
        for text in [
            "", "x", "now", "-", "--5", "+5", "%2B5", "5x", "1e5", "NaN", "inf", "0x10", ".5", "5.",
            "1:60", "1:2:3:4", ":", "1:", "٥", "5%20", "99999999999999999999",
            "9999999999999999999999:00", "1.0000000001", "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z", "2026-11-20", "2026-11-20T22:40:00", "1969-12-31T23:59:59Z",
            "2201-01-01T00:00:00Z", "-2026-11-20T22:40:00Z",
        ] {
            #expect(
                refusal("at=\(text)") { _ = try $0.moment("at", zero: Self.zero) } == 400,
                "\(text)")
        }
        let long = String(repeating: "0", count: 64)
        #expect(refusal("at=\(long)0") { _ = try $0.moment("at", zero: Self.zero) } == 400)
    }

    /// Readers of a recording add a duration to a time or subtract times: an overflow would end the viewer.
    @Test func `no moment is so far away that sums with it overflow`() {
        let decades: Int64 = 30 * 366 * 86_400 * Self.second
        for text in [
            "9223372036", "-9223372036", "9223372036.854775807", "-9223372036.854775807",
            "2562047:47:16", "-2562047:47:16", "106751d", "-106751d", "2200-12-31T23:59:59Z",
            "1970-01-01T00:00:00Z",
        ] {
            do {
                guard let moment = try moment(text) else {
                    Issue.record("\(text) was not read")
                    continue
                }
                #expect(!moment.addingReportingOverflow(decades).overflow, "\(text)")
                #expect(!moment.subtractingReportingOverflow(decades).overflow, "\(text)")
                #expect(!decades.subtractingReportingOverflow(moment).overflow, "\(text)")
            } catch let problem as Problem {
                #expect(problem.status.code == 400, "\(text)")
            } catch {
                Issue.record("\(text): \(error)")
            }
        }
    }

    @Test func `a range is in order`() throws {
        let query = try ranged("from=1.5&until=0:02")
        #expect(
            try query.range(zero: Self.zero)
                == RequestQuery.Range(from: 3 * Self.second / 2, until: 2 * Self.second))
        for text in ["from=10", "until=-5", "", "from=5&until=2026-11-20T22:40:06Z"] {
            #expect(throws: Never.self) { try ranged(text).range(zero: Self.zero) }
        }
        for text in ["from=10&until=5", "until=5&from=5", "from=5&until=2026-11-20T22:40:04Z"] {
            let query = try ranged(text)
            do {
                _ = try query.range(zero: Self.zero)
                Issue.record("\(text) was accepted")
            } catch {
                #expect(error.status.code == 400 && error.text.contains("later than"), "\(text)")
            }
        }
    }

    @Test func `an instant is in UTC`() throws {
        #expect(try query("at=2026-11-20T22:40:00Z").instant("at") == Self.zero.nanoseconds)
        #expect(try query("at=1970-01-01T00:00:00Z").instant("at") == 0)
        for text in ["at=5", "at=1:23.5", "at=-5", "at=", "at=x"] {
            #expect(refusal(text) { _ = try $0.instant("at") } == 400, "\(text)")
        }
    }

    @Test func `a number is whole, and within its bounds`() throws {
        for (text, value) in [("1", 1), ("5", 5), ("10", 10), ("007", 7)] {
            #expect(try query("count=\(text)").number("count", in: 1...10) == value, "\(text)")
        }
        for text in [
            "", "0", "11", "-1", "5.0", "5e0", "x", "0x5", "5%20", "+5", "٥",
            "99999999999999999999", "-99999999999999999999",
        ] {
            #expect(
                refusal("count=\(text)") { _ = try $0.number("count", in: 1...10) } == 400,
                "\(text)")
        }
    }

    @Test func `sources are a list of names`() throws {
        #expect(try query("sources=stage").sources("sources") == ["stage"])
        #expect(try query("sources=b,a").sources("sources") == ["b", "a"])
        #expect(try query("sources=a%2Cb-1_2.3").sources("sources") == ["a", "b-1_2.3"])
        for text in [
            "", ",", "a%20b", "a,b%2Fc", "..", "a,..", ".a", "-a", "é", "a%0A",
            "@status", String(repeating: "a", count: 65),
        ] {
            #expect(refusal("sources=\(text)") { _ = try $0.sources("sources") } == 400, "\(text)")
        }
    }

    @Test func `more sources than the limit are refused`() throws {
        let names = (0..<257).map { "s\($0)" }
        let most = names.dropLast().joined(separator: ",")
        #expect(try query("sources=\(most)").sources("sources")?.count == 256)
        let list = names.joined(separator: ",")
        #expect(refusal("sources=\(list)") { _ = try $0.sources("sources") } == 400)
    }
}
