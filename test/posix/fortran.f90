! Fortran's own input and output, formatted and as a stream, and MPI_Init from Fortran.
program test
    use mpi
    implicit none
    integer :: rank, error, i, number, where
    character(len=1000) :: file, results, name
    character(len=10) :: word

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call get_command_argument(1, file)
    call get_command_argument(2, results)
    write (name, '(a,a,i0)') trim(results), '.', rank
    open (unit=10, file=name, status='replace')
    write (name, '(a,a,i0)') trim(file), '.own', rank
    open (unit=11, file=name, status='replace', form='formatted')
    do i = 1, 3000
        write (11, '(a,i8)') 'number ', i * (rank + 1)
    end do
    rewind (11)
    do i = 1, 100
        read (11, '(a7,i8)') word, number
        write (10, *) trim(word), number
    end do
    close (11)
    write (name, '(a,a,i0)') trim(file), '.stream', rank
    open (unit=12, file=name, status='replace', access='stream', form='unformatted')
    do i = 1, 1000
        write (12, pos=8 * modulo(i * 7, 1000) + 1) i, rank
    end do
    read (12, pos=8 * 21 + 1) i, number
    inquire (unit=12, size=where)
    write (10, *) i, number, where
    close (12)
    close (10)
    call MPI_Finalize(error)
end program
