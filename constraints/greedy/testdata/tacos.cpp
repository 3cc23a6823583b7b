// Runs the synthesizer of TACOS (github.com/astra-sim/tacos) on a graph and
// prints the best of its schedules, in microseconds, and the processor seconds
// that one took. Built together with its sources:
//
//   g++ -O3 -std=c++17 -I TACOS/include tacos.cpp TACOS/src/{collective,event_queue,synthesizer,topology}/*.cpp
//
// Input: ranks, chunks of a rank, bytes of a chunk, how often; then a link a
// line: from, to, GiB/s, microseconds.

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <tacos/collective/all_gather.h>
#include <tacos/synthesizer/synthesizer.h>

class Graph final : public tacos::Topology {
  public:
    explicit Graph(const int ranks) { setNpusCount_(ranks); }
    void link(const int from, const int to, const double gibps, const double us) {
        connect_(from, to, gibps, us);
    }
};

int main() {
    int ranks, chunks, times;
    tacos::Collective::ChunkSize bytes;
    std::cin >> ranks >> chunks >> bytes >> times;
    auto graph = Graph(ranks);
    for (auto [from, to, gibps, us] = std::tuple<int, int, double, double>(); std::cin >> from >> to >> gibps >> us;) {
        graph.link(from, to, gibps, us);
    }
    const auto collective = tacos::AllGather(ranks, chunks);

    auto best = 0.0;
    const auto start = std::clock();
    for (auto i = 0; i < times; ++i) {
        const auto took = tacos::Synthesizer().solve(graph, collective, bytes);
        best = i == 0 ? took : std::min(best, took);
    }
    const auto seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / times;
    std::cout << std::setprecision(12) << best << " " << seconds << std::endl;
}
