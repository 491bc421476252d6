import Testing

@testable import Containers

/// Names of destinations in logs and errors.
@Suite struct DestinationNameTests {
    @Test(arguments: [
        ("rtsp://ann:secret@camera.example/live", "rtsp://camera.example/…"),
        ("rtmp://a.example:1935/live2/STREAM-KEY", "rtmp://a.example:1935/…"),
        ("srt://10.0.0.1:9000?passphrase=secret", "srt://10.0.0.1:9000/…"),
        ("udp://239.0.0.1:5000", "udp://239.0.0.1:5000"),
        ("rtsp://a:b@c@host", "rtsp://host"),
    ])
    func `the name of a destination contains no secret`(url: String, name: String) {
        #expect(ContainerDestination.url(url).name == name)
        #expect(ContainerDestination.file("/tmp/a@b?c").name == "/tmp/a@b?c")
    }
}
