import Foundation
import Glibc
import TestMedia
import Testing

@testable import Containers

/// Files whose content does not match their names, and files that reference other files.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct StrangeInputTests {
    /// The error of reading a file; nil: none.
    private static func refusal(_ path: String) -> String? {
        do throws(ContainerError) {
            _ = try ContainerProbe(path)
            return nil
        } catch {
            return error.description
        }
    }

    /// Lists of other files in formats that libavformat follows, with the text of the list.
    private static let lists: [String: @Sendable (String) -> String] = [
        "hls": { "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n\($0)\n#EXT-X-ENDLIST\n" },
        "concat": { "ffconcat version 1.0\nfile '\($0)'\n" },
        "dash": {
            """
            <?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:full:2011" \
            type="static" mediaPresentationDuration="PT2S"><Period><AdaptationSet><Representation id="1" bandwidth="1" \
            mimeType="video/mp4"><BaseURL>\($0)</BaseURL></Representation></AdaptationSet></Period></MPD>
            """
        },
        "sdp": { _ in
            "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nm=video 5000 RTP/AVP 96\r\n"
        },
        "imf": {
            """
            <?xml version="1.0"?><CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"><Id>\($0)</Id>\
            </CompositionPlaylist>
            """
        },
    ]

    @Test(arguments: lists.keys.sorted())
    func `a playlist or list of files is refused under any file name`(_ kind: String) throws {
        let media = try MediaFiles()
        let secret = try media.make("secret.ts", "\(MediaFiles.inputs) \(MediaFiles.h264)")
        for name in ["holiday.mp4", "holiday.mkv", "holiday.ts", "holiday.m3u8"] {
            let path = media.directory.appending(path: name).path
            try Self.lists[kind]?(secret).write(toFile: path, atomically: false, encoding: .utf8)
            let refusal = try #require(Self.refusal(path), "\(kind) as \(name) was read")
            #expect(!refusal.contains("\n") && !refusal.contains("secret"))
        }
    }

    @Test func `content decides, not the name`() throws {
        let media = try MediaFiles()
        let plain = try media.make(
            "plain.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac)")
        let renamed = media.directory.appending(path: "plain.m3u8").path
        try FileManager.default.copyItem(atPath: plain, toPath: renamed)
        #expect(try ContainerProbe(renamed).formatName.hasPrefix("mov,"))
    }

    @Test func `pipes, folders and devices are refused at once`() throws {
        let media = try MediaFiles()
        let pipe = media.directory.appending(path: "pipe.mp4").path
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(Self.refusal(pipe)?.contains("it is a named pipe, and a file is needed") == true)
        #expect(Self.refusal(media.directory.path)?.contains("it is a directory") == true)
        #expect(Self.refusal("/dev/zero")?.contains("it is a device") == true)
        #expect(Self.refusal("\(media.directory.path)/none.mp4")?.contains("no such file") == true)
    }
}
