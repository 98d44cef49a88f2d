// C++ streams: reading, writing, seeking, and what they do with the descriptor behind them.
#include <fstream>
#include <string>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string name = std::string(argv[1]) + ".own" + std::to_string(rank), line;
    std::ofstream results(std::string(argv[2]) + "." + std::to_string(rank));
    {
        std::ofstream out(name);
        for (int i = 0; i < 5000; i++)
            out << "line " << i << " of " << rank << "\n";
        results << out.tellp() << " " << out.good() << "\n";
    }
    std::fstream both(name, std::ios::in | std::ios::out | std::ios::binary);
    both.seekg(1000);
    std::getline(both, line);
    results << line << " " << both.tellg() << "\n";
    both.seekp(2000);
    both << std::string(70000, 'x') << std::flush;
    both.seekg(1990);
    std::getline(both, line);
    results << line.size() << " " << line.substr(0, 12) << " " << both.tellg() << "\n";
    both.seekg(0, std::ios::end);
    results << both.tellg() << " " << both.rdbuf()->in_avail() << "\n";
    both.close();
    results << both.good() << "\n";
    results.close();
    MPI_Finalize();
}
